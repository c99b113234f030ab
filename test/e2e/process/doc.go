// SPDX-License-Identifier: Apache-2.0

// Package process runs the product's controller as an operator would: as a program of its own, with the identity and the
// permissions of its ServiceAccount. A proxy on the way to the API server counts what it writes, and can have the program
// killed at any of its writes.
package process

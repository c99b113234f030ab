// SPDX-License-Identifier: Apache-2.0

// Package image judges what the image holds: a binary that runs where there is nothing else, as a user without rights. No
// container engine is needed for it, and none is used.
package image

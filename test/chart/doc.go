// SPDX-License-Identifier: Apache-2.0

// Package chart judges the Helm chart by what it renders: every object must decode strictly into its type, hold together
// with the others, and ask for no more than the controller needs. Helm itself renders; nothing here talks to a cluster,
// which the end-to-end suite does.
package chart

// SPDX-License-Identifier: Apache-2.0

// Package report tests the page that `noderotation simulate --report` writes, in a headless Chromium: that it needs no
// network, and can be read in light and dark, on a phone, and by keyboard. It knows the product only by its binary.
package report

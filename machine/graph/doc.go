// SPDX-License-Identifier: Apache-2.0

// Package graph draws a table of package machine: as Mermaid for a document that renders it, as DOT for Graphviz, and as
// an SVG of its own layout, which needs no other program. A drawing has every row, with its guards, in the order in which
// the rows are tried. The same table always gives the same bytes.
//
// What a row means, an ordinary step, a way around or a failure, is for the caller to say; and so is what stands beside
// it, such as how often it fired.
//
// What must never enter: a word of the domain that a table speaks about, and anything that runs or judges a table.
package graph

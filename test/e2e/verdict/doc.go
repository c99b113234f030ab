// SPDX-License-Identifier: Apache-2.0

// Package verdict judges recordings: each function looks at the world after every recorded event and returns a sentence
// for each breach of what it stands for, none if there is no breach.
//
// A verdict works out for itself what must hold, from the objects alone: it never asks the product.
package verdict

// SPDX-License-Identifier: Apache-2.0

// Package provider stands between Karpenter and its kwok provider and makes trouble on request: a zone without
// capacity, a launch that fails, an instance terminated before it ever registered.
//
// It answers with Karpenter's own errors, so that everything above it is Karpenter's true behaviour. It must never
// decide anything by itself: with no trouble asked for, the kwok provider is left as it is.
package provider

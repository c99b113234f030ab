// SPDX-License-Identifier: Apache-2.0

// Package v1alpha1 holds RotationPolicy, the configuration that an operator
// writes (§5.4): its types, its defaults, and the values that are in effect
// once defaults and derivations are applied.
//
// The generated CRD in charts/noderotation/crds enforces at admission what
// the markers in this package declare. What only the controller can know, such
// as whether a time zone exists, is judged at reconcile time and shown in the
// policy's Ready condition. Its marks of a Helm release let the chart take over
// what Helm, or kubectl, created from that folder.
//
// Runtime state never enters this package: it lives in annotations (§5.3), and
// a policy's status only observes it. Nor does a client, a clock or
// controller-runtime: the types register with apimachinery alone, so that the
// pure core can import them.
//
// +kubebuilder:object:generate=true
// +groupName=noderotation.io
package v1alpha1

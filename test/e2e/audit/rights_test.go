// SPDX-License-Identifier: Apache-2.0

package audit_test

import (
	"slices"
	"testing"

	"noderotation.io/noderotation/test/e2e/audit"
)

const roles = `
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata:
  name: a
rules:
- apiGroups: [""]
  resources: [pods]
  verbs: [list, watch]
- apiGroups: [noderotation.io]
  resources: [rotationpolicies/status]
  verbs: [update]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata:
  name: a
  namespace: here
rules:
- apiGroups: [""]
  resources: [pods]
  verbs: [create]
`

func TestUnusedGrantsAreFound(t *testing.T) {
	granted, err := audit.Granted([]byte(roles))
	if err != nil {
		t.Fatal(err)
	}
	listPods := audit.Grant{Resource: "pods", Verb: "list"}
	watchPods := audit.Grant{Resource: "pods", Verb: "watch"}
	writeStatus := audit.Grant{Group: "noderotation.io", Resource: "rotationpolicies/status", Verb: "update"}
	createPods := audit.Grant{Namespace: "here", Resource: "pods", Verb: "create"}
	if all := []audit.Grant{listPods, watchPods, writeStatus, createPods}; !slices.Equal(granted, all) {
		t.Fatalf("granted are %v, and not %v", granted, all)
	}
	needed := []audit.Grant{
		{Namespace: "elsewhere", Resource: "pods", Verb: "list"},   // granted everywhere
		{Namespace: "elsewhere", Resource: "pods", Verb: "create"}, // granted here only
		{Group: "noderotation.io", Resource: "rotationpolicies", Verb: "update"},
	}
	if unused, want := audit.Unused(granted, needed), []audit.Grant{watchPods, writeStatus, createPods}; !slices.Equal(unused, want) {
		t.Errorf("unused are %v, and not %v", unused, want)
	}
	if unused := audit.Unused(granted, granted); len(unused) > 0 {
		t.Errorf("used are all, but %v are said to be not", unused)
	}
}

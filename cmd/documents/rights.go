// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"
)

// installFile holds the permissions that the chart grants, and that the end-to-end suite runs the controller with: no
// others are needed (§4.3).
const installFile = "test/e2e/manifests/install.yaml"

// grant is some verbs on one resource.
type grant struct{ Resource, Verbs string }

// right is a grant, where it holds, and what it is needed for.
type right struct {
	grant
	Where, Why string
}

// reads are the verbs that fill the controller's cache.
func reads() []string { return []string{"list", "watch"} }

// reasons say what each grant is needed for.
func reasons() map[grant]string {
	read := strings.Join(reads(), ", ")
	return map[grant]string{
		{"nodeclaims.karpenter.sh", read}:                     "The age, deadline and progress of every node.",
		{"nodeclaims.karpenter.sh", "patch"}:                  "The annotations of the old NodeClaim.",
		{"nodeclaims.karpenter.sh", "delete"}:                 "The old NodeClaim, to have it drained; one that a failed attempt induced, to roll it back.",
		{"nodepools.karpenter.sh", read}:                      "What is to be rotated, and the rotation under way.",
		{"nodepools.karpenter.sh", "patch"}:                   "The annotations of the NodePool.",
		{"nodes", read}:                                       "Readiness, labels, protection and cordon.",
		{"nodes", "patch"}:                                    "Protection and cordon of the old Node, protection of the new one.",
		{"pods", read}:                                        "What a replacement must have room for, and what holds a drain.",
		{"pods", "create"}:                                    "The placeholder.",
		{"pods", "delete"}:                                    "The placeholder.",
		{"poddisruptionbudgets.policy", read}:                 "Which budget holds a drain.",
		{"events", "create"}:                                  "The Events of the leader's election.",
		{"events.events.k8s.io", "create"}:                    "The Events of the rotations.",
		{"events.events.k8s.io", "patch"}:                     "The count of one that repeats.",
		{"rotationpolicies.noderotation.io", read}:            "The policies.",
		{"rotationpolicies.noderotation.io/status", "update"}: "The status of a policy.",
		{"leases.coordination.k8s.io", "get"}:                 "Who leads.",
		{"leases.coordination.k8s.io", "create"}:              "The lease, where there is none.",
		{"leases.coordination.k8s.io", "update"}:              "The lease: to take it, renew it, and let it go on exit.",
	}
}

// readRights lists what the roles grant. The error names every grant without a reason, and every reason without a grant.
func readRights() ([]right, error) {
	roles, err := readRoles()
	if err != nil {
		return nil, err
	}
	given, open := reasons(), reasons()
	var all []right
	var problems []error
	for _, role := range roles {
		where := whereOf(role)
		for _, g := range grants(role.Rules) {
			if given[g] == "" {
				problems = append(problems, fmt.Errorf("%s grants %s on %s for no reason: drop it, or give a reason", installFile, g.Verbs, g.Resource))
			}
			delete(open, g)
			all = append(all, right{g, where, given[g]})
		}
	}
	for g := range open {
		problems = append(problems, fmt.Errorf("%s does not grant %s on %s: grant it, or drop the reason for it", installFile, g.Verbs, g.Resource))
	}
	return all, errors.Join(problems...)
}

// whereOf says where a role holds. The chart is rendered for one namespace of its own.
func whereOf(role rbacv1.ClusterRole) string {
	switch {
	case role.Kind == "ClusterRole":
		return "everywhere"
	case role.Namespace == metav1.NamespaceDefault:
		return "the namespace default"
	default:
		return "its own namespace"
	}
}

// grants splits rules by resource and verb; the verbs that read stay together.
func grants(rules []rbacv1.PolicyRule) []grant {
	var all []grant
	for _, rule := range rules {
		for _, group := range rule.APIGroups {
			for _, resource := range rule.Resources {
				resource = qualified(resource, group)
				verbs := rule.Verbs
				if slices.Contains(verbs, "list") {
					all = append(all, grant{resource, strings.Join(reads(), ", ")})
					verbs = slices.DeleteFunc(slices.Clone(verbs), func(verb string) bool { return slices.Contains(reads(), verb) })
				}
				for _, verb := range verbs {
					all = append(all, grant{resource, verb})
				}
			}
		}
	}
	return all
}

// qualified names a resource as kubectl does: "rotationpolicies.noderotation.io/status".
func qualified(resource, group string) string {
	name, subresource, nested := strings.Cut(resource, "/")
	if group != "" {
		name += "." + group
	}
	if nested {
		name += "/" + subresource
	}
	return name
}

// readRoles reads the roles, those of the cluster and those of a namespace, in the order of the file.
func readRoles() ([]rbacv1.ClusterRole, error) {
	content, err := os.ReadFile(installFile)
	if err != nil {
		return nil, fmt.Errorf("the permissions cannot be read: %w", err)
	}
	var roles []rbacv1.ClusterRole
	documents := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(content)))
	for {
		one, err := documents.Read()
		if errors.Is(err, io.EOF) {
			return roles, nil
		}
		if err != nil {
			return nil, fmt.Errorf("%s cannot be read: %w", installFile, err)
		}
		var role rbacv1.ClusterRole
		if err := yaml.Unmarshal(one, &role); err != nil {
			return nil, fmt.Errorf("%s cannot be read: %w", installFile, err)
		}
		if role.Kind == "ClusterRole" || role.Kind == "Role" {
			roles = append(roles, role)
		}
	}
}

// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	rbacv1 "k8s.io/api/rbac/v1"

	"noderotation.io/noderotation/rotation"
	"noderotation.io/noderotation/test/chart/render"
)

var _ = Describe("What the controller may do", func() {
	It("is what §4.3 lists, less the verbs that nothing uses, and each in no wider place than it needs", func(ctx SpecContext) {
		Expect(granted(rendered(ctx, named))).To(ConsistOf(
			"everywhere: karpenter.sh/nodeclaims list watch patch delete",
			"everywhere: karpenter.sh/nodepools list watch patch",
			"everywhere: /nodes list watch patch",
			"everywhere: /pods list watch",
			"everywhere: policy/poddisruptionbudgets list watch",
			"everywhere: noderotation.io/rotationpolicies list watch",
			"everywhere: noderotation.io/rotationpolicies/status update",
			"noderotation-system: /pods create delete",
			"noderotation-system: coordination.k8s.io/leases get create update",
			"noderotation-system: /events create",
			"default: events.k8s.io/events create patch",
		))
	})
})

var _ = Describe("The admission policy", func() {
	It("guards exactly the annotations that the controller alone writes (§5.3), each on its own kind", func(ctx SpecContext) {
		policy := only[*admissionv1.ValidatingAdmissionPolicy](rendered(ctx, named))
		Expect(policy.Spec.Variables[0].Name).To(Equal("bookkeeping"))
		guarded := map[string][]string{}
		for _, list := range regexp.MustCompile(`"(\w+)": \[([^\]]*)\]`).FindAllStringSubmatch(policy.Spec.Variables[0].Expression, -1) {
			for _, key := range strings.Split(list[2], ",") {
				guarded[list[1]] = append(guarded[list[1]], "noderotation.io/"+strings.Trim(key, ` "`))
			}
			slices.Sort(guarded[list[1]])
		}
		Expect(guarded).To(Equal(bookkeeping()))
	})
})

// bookkeeping are the keys of ours that the controller alone writes, by the resource they stand on.
func bookkeeping() map[string][]string {
	keys := map[string][]string{}
	for _, key := range rotation.Keys() {
		if key.Writer == "an operator" || !strings.HasPrefix(key.Name, "noderotation.io/") {
			continue
		}
		for resource, kind := range map[string]*regexp.Regexp{
			"nodepools": regexp.MustCompile(`\bNodePool\b`), "nodeclaims": regexp.MustCompile(`\bNodeClaim\b`), "nodes": regexp.MustCompile(`\bNode\b`),
		} {
			if kind.MatchString(key.Target) {
				keys[resource] = append(keys[resource], key.Name)
			}
		}
	}
	for _, names := range keys {
		slices.Sort(names)
	}
	return keys
}

// granted lists every rule of every role, with where it holds.
func granted(objects render.Objects) []string {
	var all []string
	list := func(where string, rules []rbacv1.PolicyRule) {
		for _, rule := range rules {
			for _, group := range rule.APIGroups {
				for _, resource := range rule.Resources {
					all = append(all, fmt.Sprintf("%s: %s/%s %s", where, group, resource, strings.Join(rule.Verbs, " ")))
				}
			}
		}
	}
	for _, role := range render.Of[*rbacv1.ClusterRole](objects) {
		list("everywhere", role.Rules)
	}
	for _, role := range render.Of[*rbacv1.Role](objects) {
		list(role.Namespace, role.Rules)
	}
	return all
}

// SPDX-License-Identifier: Apache-2.0

package simulate_test

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	karpenterv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"noderotation.io/noderotation/api/v1alpha1"
	"noderotation.io/noderotation/sim/simulate"
)

var _ = Describe("An object of a file", func() {
	applied := func() *v1alpha1.RotationPolicy {
		return &v1alpha1.RotationPolicy{ObjectMeta: metav1.ObjectMeta{Name: "weekly"}}
	}

	It("stands in for the cluster's of the same kind and name, and for no other", func() {
		in := &simulate.Input{}
		in.Add(applied(), &v1alpha1.RotationPolicy{ObjectMeta: metav1.ObjectMeta{Name: "other"}},
			&karpenterv1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: "weekly"}})
		Expect(in.Read("policy.yaml", []byte(policy))).To(Succeed())
		Expect(in.StandIn()).To(ConsistOf("RotationPolicy weekly of policy.yaml stands in for the cluster's"))
		Expect(in.Policies).To(ConsistOf(HaveField("Name", "other"),
			SatisfyAll(HaveField("Name", "weekly"), HaveField("Spec.MaintenanceWindows", HaveLen(1)))))
		Expect(in.Pools).To(HaveLen(1))
	})

	It("may not be there twice in files", func() {
		in := &simulate.Input{}
		in.Add(applied())
		Expect(in.Read("policy.yaml", []byte(policy+policy+fleet))).To(Succeed())
		Expect(in.StandIn()).To(HaveLen(1))
		_, err := simulate.Run(context.Background(), in, simulate.Options{Start: start, For: day, Seed: 1, Machine: theTable})
		Expect(err).To(MatchError(ContainSubstring("RotationPolicy weekly is there twice; remove one")))
	})
})

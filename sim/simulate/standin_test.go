// SPDX-License-Identifier: Apache-2.0

package simulate_test

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	karpenterv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"noderotation.io/noderotation/api/v1alpha1"
	"noderotation.io/noderotation/rotation"
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

	It("may not be a NodeClaim without its NodePool; one of the cluster is left out", func() {
		claim := func(name, pool string) *karpenterv1.NodeClaim {
			c := &karpenterv1.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: name}}
			if pool != "" {
				c.Labels = map[string]string{rotation.LabelNodePool: pool}
			}
			return c
		}
		in := &simulate.Input{}
		in.Add(claim("standalone", ""), claim("orphan", "web"), claim("api-3", "api"))
		Expect(in.Read("dump.yaml", []byte(policy+dump))).To(Succeed())
		Expect(in.LeaveOut()).To(ConsistOf(
			"NodeClaim standalone of the cluster belongs to no NodePool, and is left out",
			"NodeClaim orphan of the cluster belongs to NodePool web, which is not there, and is left out"))
		result, err := simulate.Run(context.Background(), in, simulate.Options{Start: start, For: 3 * day, Seed: 1, Machine: theTable})
		Expect(err).NotTo(HaveOccurred())
		Expect(result.Lives).To(ContainElement(HaveField("Claim", "api-3")))
		Expect(result.Lives).NotTo(ContainElement(HaveField("Pool", Not(Equal("api")))))

		in = &simulate.Input{}
		Expect(in.Read("dump.yaml", []byte(policy+dump+"---\napiVersion: karpenter.sh/v1\nkind: NodeClaim\nmetadata: {name: standalone}\n"))).To(Succeed())
		Expect(in.LeaveOut()).To(BeEmpty())
		_, err = simulate.Run(context.Background(), in, simulate.Options{Start: start, For: day, Seed: 1, Machine: theTable})
		Expect(err).To(MatchError(ContainSubstring("NodeClaim standalone has no pool")))
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

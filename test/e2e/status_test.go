// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"noderotation.io/noderotation/api/v1alpha1"
	"noderotation.io/noderotation/test/e2e/audit"
	"noderotation.io/noderotation/test/e2e/manifests"
)

// statusPace is the least time between two writes of a policy's status where only its pools have moved on.
const statusPace = 5 * time.Second

var _ = Describe("The status of a RotationPolicy", func() {
	It("says how each of its pools stands, in kubectl's columns too, and is written only when that changes (§5.4)", func(ctx SpecContext) {
		s, f, shut := begin(ctx), fleetOf("seen", 1), fleetOf("idle", 0)
		s.stands(ctx, f)
		s.stands(ctx, shut)
		began := time.Now()
		s.controllerRuns(ctx)
		s.governs(ctx, policyFor("seen"))
		s.governs(ctx, policyFor("idle", func(spec *v1alpha1.RotationPolicySpec) { spec.MaintenanceWindows = inTwoDays() }))
		s.standsAs(ctx, "idle", SatisfyAll(HaveField("Phase", "idle"), HaveField("BlockedBy", "in_window"),
			HaveField("Message", HavePrefix("the window opens ")), HaveField("NextWindow", Not(BeNil())), HaveField("NextDeadline", BeNil())))

		s.rotatesOnce(ctx, f)
		s.standsAs(ctx, "seen", SatisfyAll(HaveField("Phase", "idle"), HaveField("BlockedBy", "frozen"), HaveField("Candidates", BeEquivalentTo(1)),
			HaveField("Message", HavePrefix("NodePool seen is frozen until ")), HaveField("NextDeadline", Not(BeNil()))))

		By("being written no more often than its pace")
		writes := s.statusWrites("seen")
		Expect(writes).NotTo(BeZero())
		Expect(writes).To(BeNumerically("<=", 2+int(time.Since(began)/statusPace)))

		By("not moving with the clock")
		settled := s.statusWrites("idle")
		Consistently(ctx, func() int { return s.statusWrites("idle") }).WithTimeout(3 * statusPace).WithPolling(time.Second).Should(Equal(settled))

		By("being shown by kubectl")
		columns, cells := s.table(ctx, "idle")
		Expect(columns).To(Equal([]string{"Name", "Ready", "Reason", "Pools", "Rotating", "Age"}))
		Expect(cells[:5]).To(Equal([]string{"idle", "True", "Accepted", "1", "0"}))
		wide, cells := s.wideTable(ctx, "idle")
		Expect(wide).To(ContainElements("K", "Next-Window", "Message"))
		Expect(cells).To(ContainElements("2", ContainSubstring("The policy is valid and uncontested.")))
	}, SpecTimeout(patience))
})

// policy reads a RotationPolicy.
func (s *scenario) policy(ctx context.Context, name string) v1alpha1.RotationPolicy {
	GinkgoHelper()
	found, err := shared.Dynamic().Resource(policies).Get(ctx, name, metav1.GetOptions{})
	Expect(err).NotTo(HaveOccurred())
	var policy v1alpha1.RotationPolicy
	Expect(runtime.DefaultUnstructuredConverter.FromUnstructured(found.Object, &policy)).To(Succeed())
	return policy
}

// standsAs waits until the only pool of the policy stands as described in its status.
func (s *scenario) standsAs(ctx context.Context, policy string, described OmegaMatcher) {
	GinkgoHelper()
	Eventually(ctx, func() []v1alpha1.NodePoolStatus { return s.policy(ctx, policy).Status.NodePools }).
		WithTimeout(30 * time.Second).WithPolling(200 * time.Millisecond).Should(ConsistOf(described))
}

// statusWrites is how often the policy's status was written in this scenario.
func (s *scenario) statusWrites(policy string) int {
	GinkgoHelper()
	all, err := audit.Of(shared.AuditLog(), manifests.User, s.auditFrom)
	Expect(err).NotTo(HaveOccurred())
	writes := 0
	for _, record := range all {
		if record.ObjectRef.Resource == "rotationpolicies" && record.ObjectRef.Name == policy && record.Succeeded() {
			writes++
		}
	}
	return writes
}

// table is the policy as kubectl shows it: the names of the columns and the cells of its row.
func (s *scenario) table(ctx context.Context, policy string) (columns, cells []string) {
	GinkgoHelper()
	return s.columns(ctx, policy, 0)
}

// wideTable is the policy as kubectl shows it with -o wide.
func (s *scenario) wideTable(ctx context.Context, policy string) (columns, cells []string) {
	GinkgoHelper()
	return s.columns(ctx, policy, 1)
}

func (s *scenario) columns(ctx context.Context, policy string, most int32) (columns, cells []string) {
	GinkgoHelper()
	body, err := shared.Client().Discovery().RESTClient().Get().
		AbsPath("/apis/noderotation.io/v1alpha1/rotationpolicies/"+policy).
		SetHeader("Accept", "application/json;as=Table;v=v1;g=meta.k8s.io").Do(ctx).Raw()
	Expect(err).NotTo(HaveOccurred())
	var table metav1.Table
	Expect(json.Unmarshal(body, &table)).To(Succeed())
	Expect(table.Rows).To(HaveLen(1))
	for i, column := range table.ColumnDefinitions {
		if column.Priority <= most {
			columns = append(columns, column.Name)
			cells = append(cells, fmt.Sprint(table.Rows[0].Cells[i]))
		}
	}
	return columns, cells
}

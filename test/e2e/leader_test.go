// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"noderotation.io/noderotation/test/e2e/manifests"
	"noderotation.io/noderotation/test/e2e/process"
	"noderotation.io/noderotation/test/e2e/record"
)

const (
	// leaseName is the name of the lease that the leader holds.
	leaseName = "noderotation"
	// leaseDuration is how long a leader that is gone is waited for.
	leaseDuration = 12 * time.Second
	// handOver is how soon another process leads once the leader has been asked to end. A lease that had not been
	// released would last longer.
	handOver = 5 * time.Second
)

var _ = Describe("A change of leader in mid-rotation", func() {
	It("comes to the same end, and is quick where the leader is asked to end (§5.1; architecture.md, crash safety)", func(ctx SpecContext) {
		const nodes = 3
		s, f := begin(ctx), fleetOf("led", nodes, withLargePods)
		DeferCleanup(s.nobodyLeads)
		s.stands(ctx, f)
		// Each rotation is pending for longer than it takes to see that it is, and to end who leads.
		launchesTake(ctx, 10*time.Second)
		first := s.contends(ctx, "first")
		s.leads(ctx, "")
		second := s.contends(ctx, "second")
		s.governs(ctx, policyFor("led"))

		s.await(ctx, "the first rotation is pending", f.pendingAfter(0))
		lost := s.holder(ctx)
		Expect(first.Kill()).To(Succeed())
		s.leads(ctx, lost)
		third := s.contends(ctx, "third")
		s.await(ctx, "the second rotation is pending", f.pendingAfter(1))

		lost = s.holder(ctx)
		asked := time.Now()
		Expect(second.Stop()).To(Succeed())
		Expect(s.leads(ctx, lost).Sub(asked)).To(BeNumerically("<", handOver), "without a leader")
		s.rotatesOnce(ctx, f)
		Expect(third.Died()).NotTo(HaveOccurred())

		recording := s.recording(ctx)
		ExpectOneByOne(recording, f)
		ExpectNeverMoreThan(recording, f, nodes+1)
		Expect(s.rowsOf("first")).NotTo(ContainElement("drain"))
		Expect(s.rowsOf("second")).To(ContainElements("drained", "start"))
		Expect(s.rowsOf("third")).To(ContainElements("drain", "drained", "start", "drain", "drained"))
	}, SpecTimeout(patience))
})

func (s *scenario) logOf(name string) string { return filepath.Join(s.folder, name+".log") }

// contends starts a controller that acts while it leads.
func (s *scenario) contends(ctx context.Context, name string) *process.Controller {
	GinkgoHelper()
	controller, err := process.Start(ctx, process.Options{
		Binary: binary, Kubeconfig: s.kubeconfig(), Namespace: manifests.Namespace, Log: s.logOf(name), LeaderElection: true,
		Flags: []string{
			"--leader-elect-lease-duration=" + leaseDuration.String(), "--leader-elect-renew-deadline=4s", "--leader-elect-retry-period=1s",
		},
	})
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(controller.Kill)
	return controller
}

// leads waits until a process leads that is not the lost one, and returns since when.
func (s *scenario) leads(ctx context.Context, lost string) time.Time {
	GinkgoHelper()
	var since time.Time
	what := fmt.Sprintf("somebody leads who is not %q", lost)
	Expect(shared.WaitFor(ctx, what, func(ctx context.Context) (bool, error) {
		lease, err := s.lease(ctx)
		if apierrors.IsNotFound(err) {
			return false, nil
		}
		if err != nil || holderOf(lease) == "" || holderOf(lease) == lost {
			return false, err
		}
		since = lease.Spec.AcquireTime.Time
		return true, nil
	})).To(Succeed())
	return since
}

// holder is who leads.
func (s *scenario) holder(ctx context.Context) string {
	GinkgoHelper()
	lease, err := s.lease(ctx)
	Expect(err).NotTo(HaveOccurred())
	Expect(holderOf(lease)).NotTo(BeEmpty(), "leader")
	return holderOf(lease)
}

// nobodyLeads takes the lease away that a killed leader leaves behind.
func (s *scenario) nobodyLeads(ctx context.Context) {
	GinkgoHelper()
	Expect(shared.Client().CoordinationV1().Leases(manifests.Namespace).Delete(ctx, leaseName, metav1.DeleteOptions{})).To(Succeed())
}

func (s *scenario) lease(ctx context.Context) (*coordinationv1.Lease, error) {
	return shared.Client().CoordinationV1().Leases(manifests.Namespace).Get(ctx, leaseName, metav1.GetOptions{})
}

func holderOf(lease *coordinationv1.Lease) string {
	if lease.Spec.HolderIdentity == nil {
		return ""
	}
	return *lease.Spec.HolderIdentity
}

// pendingAfter tells whether so many originals are gone and a placeholder stands for the next.
func (f *fleet) pendingAfter(gone int) func(record.World) bool {
	return func(world record.World) bool {
		return f.left(world) == len(f.Originals)-gone && f.hasPlaceholder(world)
	}
}

// rowsOf are the rows by which a process changed the state of a rotation.
func (s *scenario) rowsOf(name string) []string {
	GinkgoHelper()
	transitions, err := process.Transitions(s.logOf(name))
	Expect(err).NotTo(HaveOccurred())
	var rows []string
	for _, transition := range transitions {
		if transition.From != transition.To {
			rows = append(rows, transition.Row)
		}
	}
	return rows
}

// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"noderotation.io/noderotation/rotation"
	"noderotation.io/noderotation/test/e2e/process"
	"noderotation.io/noderotation/test/e2e/verdict"
)

// told of a pool by `status -o json`, as far as these scenarios ask.
type poolStatus struct {
	NodePool   string
	Policy     string
	Phase      string
	Candidates int
	Freeze     *struct{ Reason string }
	Rotation   *struct{ NodeClaim, Node string }
	Blocked    *struct{ Guard, Reason string }
}

var _ = Describe("The people's commands", func() {
	It("tell a reader what becomes of a pool and why, and hold it and let it go for one who may patch it (§3.1, §4.2)", func(ctx SpecContext) {
		s, f := begin(ctx), fleetOf("asked", 1, func(f *fleet) { f.Workload.EndDelay = 10 * time.Second })
		reader := aPerson(ctx, "reader", readsAll...)
		holder := aPerson(ctx, "holder", rbacv1.PolicyRule{APIGroups: []string{"karpenter.sh"}, Resources: []string{"nodepools"}, Verbs: []string{"get", "patch"}})
		stranger := aPerson(ctx, "stranger")
		s.stands(ctx, f)
		old := f.Originals[0]
		oldNode := s.nodeOf(ctx, old)

		By("asking about a pool without a policy, and about a pool that does not exist")
		Expect(reader.status(ctx, f)).To(SatisfyAll(HaveField("Policy", ""), HaveField("Phase", "idle"), HaveField("Blocked.Guard", "governed")))
		Expect(reader.is(ctx, 1, "why", "askde").Err).To(ContainSubstring("nothing is called askde: no NodePool, no NodeClaim, no Node; did you mean NodePool asked"))

		By("freezing the pool before its policy comes")
		Expect(holder.is(ctx, 0, "freeze", "asked", "--for", "1h", "--reason", "release of the shop").Out).To(
			HavePrefix("NodePool asked is frozen until "))
		Expect(holder.is(ctx, 1, "freeze", "asked", "--for", "1m").Err).To(ContainSubstring("--force lets it end earlier"))
		Expect(holder.is(ctx, 1, "freeze", "asked", "--until", "2026-01-10T02:00:00Z").Err).To(ContainSubstring("is not in the future"))
		Expect(reader.is(ctx, 1, "unfreeze", "asked").Err).To(ContainSubstring(
			"NodePool asked is not unfrozen: you may not patch nodepools.karpenter.sh: ask for a role that allows it"))
		s.controllerRuns(ctx)
		s.governs(ctx, policyFor("asked"))
		Eventually(ctx, func() float64 { return s.reads(ctx, f, "noderotation_blocked", `guard="frozen"`) }).Should(Equal(1.0))
		frozen := s.fence(ctx)
		Eventually(ctx, func() poolStatus { return reader.status(ctx, f) }).Should(HaveField("Candidates", 1), "its node comes of age")
		Expect(reader.status(ctx, f)).To(SatisfyAll(HaveField("Policy", "asked"), HaveField("Candidates", 1),
			HaveField("Freeze.Reason", "release of the shop"), HaveField("Blocked.Guard", "frozen")))
		s.isPassedOver(ctx, s.controller, f)
		s.expectHeldSince(ctx, f, frozen)
		Expect(reader.is(ctx, 0, "status").Out).To(MatchRegexp(`(?m)^asked +asked +idle, FROZEN +always open +1 of 1 .* frozen$`))
		Expect(reader.is(ctx, 0, "why", "asked").Out).To(MatchRegexp(`no +not frozen +NodePool asked is frozen until .* \(release of the`))

		By("asking what would hold the node's drain")
		protect(ctx, f)
		Expect(reader.is(ctx, 0, "why", "node/"+oldNode).Out).To(SatisfyAll(
			ContainSubstring("NodeClaim "+old+" is the candidate"), ContainSubstring(`has karpenter.sh/do-not-disrupt="true"`)))
		s.unprotect(ctx, f)

		By("letting the pool go, and holding it again while its replacement is launched")
		launchesTake(ctx, 12*time.Second)
		Expect(holder.is(ctx, 0, "unfreeze", "asked").Out).To(HavePrefix("NodePool asked is no longer frozen"))
		s.await(ctx, "the rotation is pending", f.hasPlaceholder)
		Expect(reader.status(ctx, f)).To(SatisfyAll(HaveField("Phase", "pending"),
			HaveField("Rotation.NodeClaim", old), HaveField("Rotation.Node", oldNode), HaveField("Blocked.Guard", "surge_ready")))
		Expect(reader.is(ctx, 0, "why", "nodeclaim/"+old).Out).To(SatisfyAll(
			ContainSubstring("is the one that is being rotated"), ContainSubstring("fires     pending-wait")))
		Expect(reader.is(ctx, 0, "freeze", "--help").Out).NotTo(BeEmpty())
		Expect(holder.is(ctx, 0, "freeze", "asked", "--for", "5s").Out).To(ContainSubstring("The rotation of NodeClaim " + old + " is held"))

		By("freezing while the old node drains, which goes on")
		s.lastOneDrains(ctx, f)
		Expect(reader.is(ctx, 0, "why", old).Out).To(MatchRegexp(`Drain +it began `))
		Expect(aPerson(ctx, "operator-on-call", append(readsAll, patchesPools)...).is(ctx, 0, "freeze", "asked", "--for", "1h").Out).To(
			ContainSubstring("goes on: its drain has begun"))
		s.settles(ctx, f)

		By("asking what has happened")
		told(ctx, "RotationCompleted", f.Name)
		var history struct {
			Past []struct{ What, NodeClaim string }
		}
		Expect(json.Unmarshal([]byte(reader.is(ctx, 0, "history", "asked", "-o", "json").Out), &history)).To(Succeed())
		var what []string
		for _, past := range history.Past {
			what = append(what, past.What)
		}
		Expect(what).To(HaveExactElements("RotationStarted", Or(Equal("RotationCompleted"), Equal(rotation.KeyLastRotationAt)),
			Or(Equal("RotationCompleted"), Equal(rotation.KeyLastRotationAt))))
		Expect(history.Past[0].NodeClaim).To(Equal(old))

		By("asking without any right")
		Expect(stranger.is(ctx, 1, "status").Err).To(ContainSubstring("you may not list nodepools.karpenter.sh: ask for a role that allows it"))
		Expect(stranger.is(ctx, 1, "why", "asked").Err).To(ContainSubstring("you may not get nodepools.karpenter.sh, nor get nodeclaims.karpenter.sh, nor get nodes:"))
		Expect(stranger.is(ctx, 1, "history", "asked").Err).To(ContainSubstring("you may not get nodepools.karpenter.sh"))

		recording := s.recording(ctx)
		ExpectEndings(recording, f, verdict.Success)
		ExpectAllRotated(recording, f)
		ExpectNothingOfOursLeft(recording)
		_, breaches := verdict.FreezeHeld(recording, f.Name)
		Expect(breaches).To(BeEmpty(), "freeze")
	}, SpecTimeout(patience))

	It("are kubectl's own, and completed, where they are installed under a plugin's name", func(ctx SpecContext) {
		s, f := begin(ctx), fleetOf("plugged", 0)
		s.stands(ctx, f)
		plugin := filepath.Join(s.folder, "kubectl-rotation")
		Expect(os.Symlink(binary, plugin)).To(Succeed())
		says := func(arguments ...string) string {
			GinkgoHelper()
			said, err := process.Run(ctx, plugin, shared.Kubeconfig(), arguments...)
			Expect(err).NotTo(HaveOccurred())
			Expect(said.Status).To(BeZero(), said.Err)
			return said.Out
		}
		Expect(says("why", "--help")).To(SatisfyAll(ContainSubstring("kubectl rotation why NODEPOOL"), ContainSubstring("  kubectl rotation why api\n")))
		Expect(says("__complete", "status", "")).To(ContainSubstring("plugged\tNodePool\n"))
		Expect(says("__complete", "freeze", "other", "--context", "")).To(ContainSubstring("cluster\n"))
		Expect(says("status", "plugged")).To(HavePrefix("NodePool    plugged\n"))
	}, SpecTimeout(patience))
})

// readsAll is what a person may do who only looks.
var readsAll = []rbacv1.PolicyRule{
	{APIGroups: []string{"karpenter.sh"}, Resources: []string{"nodepools", "nodeclaims"}, Verbs: []string{"get", "list"}},
	{APIGroups: []string{""}, Resources: []string{"nodes", "pods", "events"}, Verbs: []string{"get", "list"}},
	{APIGroups: []string{"policy"}, Resources: []string{"poddisruptionbudgets"}, Verbs: []string{"get", "list"}},
	{APIGroups: []string{"noderotation.io"}, Resources: []string{"rotationpolicies"}, Verbs: []string{"get", "list"}},
}

var patchesPools = rbacv1.PolicyRule{APIGroups: []string{"karpenter.sh"}, Resources: []string{"nodepools"}, Verbs: []string{"patch"}}

// person is somebody with a kubeconfig, to whom RBAC allows what it was told to.
type person struct{ kubeconfig string }

// aPerson has these rights until the scenario ends.
func aPerson(ctx context.Context, name string, rights ...rbacv1.PolicyRule) person {
	GinkgoHelper()
	kubeconfig, err := shared.KubeconfigFor(name, nil)
	Expect(err).NotTo(HaveOccurred())
	if len(rights) == 0 {
		return person{kubeconfig}
	}
	roles, bindings := shared.Client().RbacV1().ClusterRoles(), shared.Client().RbacV1().ClusterRoleBindings()
	meta := metav1.ObjectMeta{Name: "person:" + name}
	_, err = roles.Create(ctx, &rbacv1.ClusterRole{ObjectMeta: meta, Rules: rights}, metav1.CreateOptions{})
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(func(ctx context.Context) { Expect(roles.Delete(ctx, meta.Name, metav1.DeleteOptions{})).To(Succeed()) })
	_, err = bindings.Create(ctx, &rbacv1.ClusterRoleBinding{
		ObjectMeta: meta, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: meta.Name},
		Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: name}},
	}, metav1.CreateOptions{})
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(func(ctx context.Context) {
		Expect(bindings.Delete(ctx, meta.Name, metav1.DeleteOptions{})).To(Succeed())
	})
	return person{kubeconfig}
}

// is told what a command answers, which ends with this status. RBAC takes a moment to know a person: what is refused to
// one who may do it is asked again.
func (p person) is(ctx context.Context, status int, arguments ...string) process.Said {
	GinkgoHelper()
	var said process.Said
	Eventually(ctx, func(g Gomega) {
		var err error
		said, err = process.Run(ctx, binary, p.kubeconfig, arguments...)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(said.Status).To(Equal(status), said.Out+said.Err)
	}).WithTimeout(10 * time.Second).Should(Succeed())
	AddReportEntry("noderotation "+strings.Join(arguments, " "), said.Out+said.Err, ReportEntryVisibilityFailureOrVerbose)
	return said
}

// status is what a program is told of the fleet.
func (p person) status(ctx context.Context, f *fleet) poolStatus {
	GinkgoHelper()
	var all struct{ NodePools []poolStatus }
	Expect(json.Unmarshal([]byte(p.is(ctx, 0, "status", "-o", "json").Out), &all)).To(Succeed())
	for _, pool := range all.NodePools {
		if pool.NodePool == f.Name {
			return pool
		}
	}
	Fail("status tells nothing of " + f.Name)
	return poolStatus{}
}

// protect keeps the fleet's Pods from being disrupted.
func protect(ctx context.Context, f *fleet) {
	GinkgoHelper()
	all, err := shared.PodsOf(ctx, f.Workload)
	Expect(err).NotTo(HaveOccurred())
	patch := inMetadata(metav1.ObjectMeta{Annotations: map[string]string{rotation.KeyDoNotDisrupt: rotation.ValueTrue}})
	for _, pod := range all {
		_, err := shared.Client().CoreV1().Pods(pod.Namespace).Patch(ctx, pod.Name, types.MergePatchType, patch, metav1.PatchOptions{})
		Expect(err).NotTo(HaveOccurred())
	}
}

// SPDX-License-Identifier: Apache-2.0

package rotation_test

import (
	"strings"
	"testing"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"pgregory.net/rapid"

	"noderotation.io/noderotation/api/v1alpha1"
	"noderotation.io/noderotation/rotation"
)

func placeholderFor(changes ...change) *corev1.Pod {
	GinkgoHelper()
	pod, _, err := rotation.NewPlaceholder(surging(changes...))
	Expect(err).NotTo(HaveOccurred())
	return pod
}

func requiredOf(pod *corev1.Pod) []corev1.NodeSelectorTerm {
	selector := pod.Spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution
	if selector == nil {
		return nil
	}
	return selector.NodeSelectorTerms
}

func preferredOf(pod *corev1.Pod) []corev1.PreferredSchedulingTerm {
	return pod.Spec.Affinity.NodeAffinity.PreferredDuringSchedulingIgnoredDuringExecution
}

var _ = Describe("The placeholder (§3.3)", func() {
	It("is a bare Pod of the controller's namespace that says for which claim it stands (§5.3)", func() {
		pod := placeholderFor()
		Expect(pod.Name).To(Equal(rotation.PlaceholderName("old")))
		Expect(pod.Namespace).To(Equal("noderotation"))
		Expect(pod.OwnerReferences).To(BeEmpty())
		Expect(pod.Annotations).To(Equal(map[string]string{rotation.KeySurgeFor: "old"}))
		Expect(rotation.IsPlaceholder(pod)).To(BeTrue())
	})

	It("is everybody's victim and goes at once", func() {
		pod := placeholderFor()
		Expect(pod.Spec.PriorityClassName).To(Equal("noderotation-placeholder"))
		Expect(pod.Spec.Priority).To(BeNil(), "the class decides")
		Expect(*pod.Spec.TerminationGracePeriodSeconds).To(BeZero())
	})

	It("meets the restricted Pod Security Standard", func() {
		spec := placeholderFor(withPods(surgeOldNode, edited(workload("web", "cpu=1"), func(p *corev1.Pod) {
			p.Spec.HostNetwork = true
			p.Spec.Containers[0].Ports = []corev1.ContainerPort{{HostPort: 80, ContainerPort: 80}}
		}))).Spec
		Expect(*spec.AutomountServiceAccountToken).To(BeFalse())
		Expect(*spec.SecurityContext.RunAsNonRoot).To(BeTrue())
		Expect(*spec.SecurityContext.RunAsUser).NotTo(BeZero())
		Expect(spec.SecurityContext.SeccompProfile.Type).To(Equal(corev1.SeccompProfileTypeRuntimeDefault))
		Expect(spec.HostNetwork || spec.HostPID || spec.HostIPC).To(BeFalse())
		Expect(spec.Volumes).To(BeEmpty())
		Expect(spec.Containers).To(HaveLen(1))
		pause := spec.Containers[0]
		Expect(pause.Image).To(Equal("registry.k8s.io/pause:3.10"))
		Expect(pause.Ports).To(BeEmpty())
		Expect(*pause.SecurityContext.AllowPrivilegeEscalation).To(BeFalse())
		Expect(pause.SecurityContext.Capabilities.Drop).To(ConsistOf(corev1.Capability("ALL")))
		Expect(pause.SecurityContext.Capabilities.Add).To(BeEmpty())
	})

	It("pulls its image with the Secrets that the installation names, and with none where it names none", func() {
		Expect(placeholderFor().Spec.ImagePullSecrets).To(BeEmpty())
		secret := func(s *rotation.Snapshot) { s.Settings.PullSecrets = []string{"registry", "mirror"} }
		Expect(placeholderFor(secret).Spec.ImagePullSecrets).To(Equal([]corev1.LocalObjectReference{{Name: "registry"}, {Name: "mirror"}}))
	})

	It("asks for what was sized", func() {
		pod, sizing, err := rotation.NewPlaceholder(surging(allocatable("cpu=4", "memory=8Gi"),
			withPods(surgeOldNode, workload("web", "cpu=5", "memory=1Gi"))))
		Expect(err).NotTo(HaveOccurred())
		Expect(written(pod.Spec.Containers[0].Resources.Requests)).To(Equal([]string{"cpu=4", "memory=1Gi"}))
		Expect(pod.Spec.Containers[0].Resources.Limits).To(BeEmpty())
		Expect(sizing.Clamped).To(HaveLen(1))
	})

	It("limits what Kubernetes does not overcommit, without which it would not be admitted", func() {
		resources := placeholderFor(withPods(surgeOldNode, workload("model",
			"cpu=1", "ephemeral-storage=1Gi", "hugepages-2Mi=4Mi", "nvidia.com/gpu=2"))).Spec.Containers[0].Resources
		Expect(written(resources.Requests)).To(Equal([]string{"cpu=1", "ephemeral-storage=1Gi", "hugepages-2Mi=4Mi", "nvidia.com/gpu=2"}))
		Expect(written(resources.Limits)).To(Equal([]string{"hugepages-2Mi=4Mi", "nvidia.com/gpu=2"}))
	})

	It("can only be served by this pool, and tolerates the taints of its template", func() {
		spec := placeholderFor(editPool(func(p *rotation.Pool) {
			p.Taints = []corev1.Taint{
				{Key: "team", Value: "shop", Effect: corev1.TaintEffectNoSchedule},
				{Key: "evicting", Effect: corev1.TaintEffectNoExecute},
			}
		})).Spec
		Expect(spec.NodeSelector).To(Equal(map[string]string{"karpenter.sh/nodepool": "api"}))
		Expect(spec.Tolerations).To(Equal([]corev1.Toleration{
			{Key: "team", Operator: corev1.TolerationOpEqual, Value: "shop", Effect: corev1.TaintEffectNoSchedule},
			{Key: "evicting", Operator: corev1.TolerationOpEqual, Effect: corev1.TaintEffectNoExecute},
		}))
	})

	It("requires zone, architecture and capacity type of the candidate by default, in one term", func() {
		Expect(requiredOf(placeholderFor())).To(Equal([]corev1.NodeSelectorTerm{term(
			expr(zoneLabel, "In", "a"), expr(archLabel, "In", "amd64"), expr(spotLabel, "In", "spot"))}))
	})

	It("requires nothing where nothing is to be replicated", func() {
		Expect(requiredOf(placeholderFor(replicating([]v1alpha1.LabelKey{}, nil)))).To(BeEmpty())
		Expect(requiredOf(placeholderFor(editNode(surgeOldNode, func(n *corev1.Node) { n.Labels = nil })))).To(BeEmpty())
	})

	It("prefers to keep off the candidate and off hosts that are of age themselves", func() {
		pod := placeholderFor(
			withClaim("aged", -fleetAge, nil), withClaim("young", -1, nil), withLaunch("unregistered", -fleetAge),
			func(s *rotation.Snapshot) {
				s.Selection.Due = map[string]bool{"old": true, "aged": true, "unregistered": true}
			})
		Expect(preferredOf(pod)).To(Equal([]corev1.PreferredSchedulingTerm{{
			Weight: 25, Preference: term(expr(corev1.LabelHostname, "NotIn", "aged-node.internal", "old-node.internal")),
		}}))
	})

	It("prefers the preferred labels, all of them before each alone, and those before a young host", func() {
		pod := placeholderFor(replicating([]v1alpha1.LabelKey{archLabel}, []v1alpha1.LabelKey{zoneLabel, "absent", spotLabel}))
		zone, capacity := expr(zoneLabel, "In", "a"), expr(spotLabel, "In", "spot")
		Expect(preferredOf(pod)).To(Equal([]corev1.PreferredSchedulingTerm{
			{Weight: 100, Preference: term(zone, capacity)},
			{Weight: 50, Preference: term(zone)},
			{Weight: 50, Preference: term(capacity)},
			{Weight: 25, Preference: term(expr(corev1.LabelHostname, "NotIn", "old-node.internal"))},
		}))
		Expect(requiredOf(pod)).To(Equal([]corev1.NodeSelectorTerm{term(expr(archLabel, "In", "amd64"))}))
	})

	It("does not prefer a value that the pool allows no longer", func() {
		pod := placeholderFor(replicating([]v1alpha1.LabelKey{}, []v1alpha1.LabelKey{zoneLabel}), poolDemands(requirement(zoneLabel, "In", "b")))
		Expect(preferredOf(pod)).To(HaveExactElements(HaveField("Weight", int32(25))))
	})

	DescribeTable("never requires a host name, for which Karpenter launches nothing",
		func(changes ...change) {
			for _, alternative := range requiredOf(placeholderFor(changes...)) {
				Expect(alternative.MatchExpressions).NotTo(ContainElement(HaveField("Key", corev1.LabelHostname)))
				Expect(alternative.MatchFields).To(BeEmpty())
			}
		},
		Entry("by default"),
		Entry("when every host is of age", func(s *rotation.Snapshot) { s.Selection.Due = map[string]bool{"old": true} }),
		Entry("when the pool itself demands one", poolDemands(requirement(corev1.LabelHostname, "In", "x"))),
	)

	It("is refused with the object and the key where a requirement cannot be honoured", func() {
		_, _, err := rotation.NewPlaceholder(surging(poolDemands(requirement(zoneLabel, "Near", "b"))))
		Expect(err).To(MatchError(SatisfyAll(
			ContainSubstring("NodeClaim old"), ContainSubstring("NodePool api"), ContainSubstring(zoneLabel), ContainSubstring(`"Near"`))))
	})

	It("is refused where there is no claim to stand for", func() {
		_, _, err := rotation.NewPlaceholder(surging(func(s *rotation.Snapshot) { s.Claims = nil }))
		Expect(err).To(MatchError("NodePool api: there is no NodeClaim to make room for"))
	})

	It("is the same Pod each time", func() {
		changes := []change{
			allocatable("cpu=4", "memory=8Gi", "nvidia.com/gpu=1"),
			withPods(surgeOldNode, workload("web", "cpu=5", "memory=1Gi", "nvidia.com/gpu=1")),
			withClaim("b", -fleetAge, nil), withClaim("c", -fleetAge, nil), withClaim("d", -fleetAge, nil),
			func(s *rotation.Snapshot) { s.Selection.Due = map[string]bool{"b": true, "c": true, "d": true} },
			replicating([]v1alpha1.LabelKey{zoneLabel, archLabel}, []v1alpha1.LabelKey{spotLabel}),
		}
		first := placeholderFor(changes...)
		for range 20 {
			Expect(placeholderFor(changes...)).To(Equal(first))
		}
	})

	DescribeTable("is told from other Pods by its labels and its annotation",
		func(edit func(*corev1.Pod)) {
			Expect(rotation.IsPlaceholder(edited(aPlaceholder("old"), edit))).To(BeFalse())
		},
		Entry("the controller's own Pod", func(p *corev1.Pod) { p.Labels["app.kubernetes.io/component"] = "controller" }),
		Entry("a Pod without the annotation", func(p *corev1.Pod) { p.Annotations = nil }),
		Entry("a Pod that took over the annotation", func(p *corev1.Pod) { p.Labels = nil }),
	)
})

// The name is deterministic, valid, and different for different claims, up to the longest claim name.
func TestPlaceholderNames(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.StringMatching(`[a-z0-9]([-a-z0-9]{0,60}[a-z0-9])?(\.[a-z0-9]([-a-z0-9]{0,60}[a-z0-9])?){0,3}`)
		a, b := name.Draw(t, "a"), name.Draw(t, "b")
		pod := rotation.PlaceholderName(a)
		if faults := validation.IsDNS1123Subdomain(pod); len(faults) > 0 || len(pod) > validation.DNS1123LabelMaxLength {
			t.Fatalf("%q is no good name: %v", pod, faults)
		}
		if (a == b) != (pod == rotation.PlaceholderName(b)) {
			t.Fatalf("%q and %q get %q and %q", a, b, pod, rotation.PlaceholderName(b))
		}
	})
}

func TestPlaceholderNameOfTheLongestClaims(t *testing.T) {
	g := NewWithT(t)
	long := strings.Repeat("a", 252)
	dotted := strings.Repeat("a", 41) + strings.Repeat("-.a", 60)
	g.Expect(rotation.PlaceholderName("api-x7k2p")).To(Equal("surge-for-api-x7k2p"))
	g.Expect(rotation.PlaceholderName(long + "b")).NotTo(Equal(rotation.PlaceholderName(long + "c")))
	for _, claim := range []string{long + "b", dotted} {
		g.Expect(validation.IsDNS1123Subdomain(rotation.PlaceholderName(claim))).To(BeEmpty())
	}
}

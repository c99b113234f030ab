// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	monitoringv1 "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/yaml"

	"noderotation.io/noderotation/api/v1alpha1"
	"noderotation.io/noderotation/rotation"
	"noderotation.io/noderotation/test/chart/render"
)

var _ = Describe("What the chart renders", func() {
	DescribeTable("passes helm lint, decodes strictly, and holds together", func(ctx SpecContext, arguments ...string) {
		_, err := render.Helm(ctx, append([]string{"lint", "--strict", render.Chart()}, arguments...)...)
		Expect(err).NotTo(HaveOccurred())
		objects := rendered(ctx, arguments...)
		expectNamesApart(objects)
		expectSelectorsMeet(objects)
	},
		Entry("with the defaults", named),
		Entry("with everything", "--values=test/chart/testdata/full.yaml"),
		Entry("with monitoring", "--values=test/chart/testdata/monitored.yaml"),
		Entry("with the least", "--values=test/chart/testdata/least.yaml"),
		Entry("with another table", named, "--set-file=transitions=transitions.yaml"),
	)

	It("has by default every kind that a cluster serves by itself, and none that it may not", func(ctx SpecContext) {
		Expect(kinds(rendered(ctx, named))).To(Equal([]string{
			"ClusterRole", "ClusterRoleBinding", "CustomResourceDefinition", "Deployment", "NetworkPolicy", "PodDisruptionBudget",
			"PriorityClass", "Role", "RoleBinding", "Service", "ServiceAccount", "ValidatingAdmissionPolicy",
			"ValidatingAdmissionPolicyBinding",
		}))
		Expect(kinds(rendered(ctx, "--values=test/chart/testdata/least.yaml"))).To(Equal([]string{"Deployment", "Service"}))
		old := kinds(rendered(ctx, named, "--kube-version=1.29.0"))
		Expect(old).NotTo(ContainElement("ValidatingAdmissionPolicy"), "1.29 does not serve it")
		Expect(old).To(ContainElement("Deployment"))
	})

	DescribeTable("has names that an API server takes, whatever release and namespace are called",
		func(ctx SpecContext, name string, arguments ...string) {
			objects, err := render.TemplateOf(ctx, name, name, append([]string{"--values=test/chart/testdata/full.yaml"}, arguments...)...)
			Expect(err).NotTo(HaveOccurred())
			expectNamesApart(objects)
			deployment := only[*appsv1.Deployment](objects)
			Expect(deployment.Namespace).To(Equal(name))
			Expect(deployment.Spec.Selector.MatchLabels).To(HaveKeyWithValue("app.kubernetes.io/instance", name))
			Expect(deployment.Spec.Template.Labels).To(HaveKeyWithValue("app.kubernetes.io/instance", name))
			Expect(validation.IsDNS1035Label(only[*corev1.Service](objects).Name)).To(BeEmpty())
		},
		Entry("a year", "2024"),
		Entry("what YAML takes for a number", "1e3"),
		Entry("what YAML takes for a truth", "true", "--set-string=fullnameOverride=true", "--set-string=serviceAccount.name=null"),
		Entry("numbers all over", "1e3", "--set-string=serviceAccount.name=12", "--set-string=priorityClassName=34", "--set-string=placeholder.priorityClass.name=56"),
		Entry("as long as Helm allows", strings.Repeat("a", 53)),
	)

	It("has the operator's labels on every object, and they take the place of none of its own", func(ctx SpecContext) {
		objects := rendered(ctx, "--values=test/chart/testdata/full.yaml", `--set-json=commonLabels={"team":"infra","app.kubernetes.io/component":"infra",`+
			`"app.kubernetes.io/instance":"other","app.kubernetes.io/managed-by":"hands"}`)
		expectNamesApart(objects)
		expectSelectorsMeet(objects)
		for _, object := range objects {
			Expect(object.GetLabels()).To(HaveKeyWithValue("team", "infra"))
			Expect(object.GetLabels()).To(HaveKeyWithValue("app.kubernetes.io/component", "controller"))
		}
	})

	It("runs two processes that one election and the restricted Pod Security Standard let run", func(ctx SpecContext) {
		deployment := only[*appsv1.Deployment](rendered(ctx, named))
		Expect(*deployment.Spec.Replicas).To(BeEquivalentTo(2))
		spec := deployment.Spec.Template.Spec
		Expect(spec.Containers).To(HaveLen(1))
		container := spec.Containers[0]
		Expect(container.Image).To(Equal("registry.example.com/noderotation:0.1.0"))
		Expect(container.Args).To(ContainElements("controller", "--leader-elect=true", "--namespace=noderotation-system",
			"--pause-image=registry.k8s.io/pause:3.10", "--placeholder-priority-class=noderotation-placeholder"))
		Expect(*spec.SecurityContext.RunAsNonRoot).To(BeTrue())
		Expect(*spec.SecurityContext.RunAsUser).To(BeEquivalentTo(65532))
		Expect(spec.SecurityContext.SeccompProfile.Type).To(Equal(corev1.SeccompProfileTypeRuntimeDefault))
		Expect(*container.SecurityContext.AllowPrivilegeEscalation).To(BeFalse())
		Expect(*container.SecurityContext.ReadOnlyRootFilesystem).To(BeTrue())
		Expect(container.SecurityContext.Capabilities.Drop).To(ConsistOf(corev1.Capability("ALL")))
		Expect(container.LivenessProbe.HTTPGet.Path).To(Equal("/healthz"))
		Expect(container.ReadinessProbe.HTTPGet.Path).To(Equal("/readyz"))
		Expect(spec.TopologySpreadConstraints).To(HaveLen(2))
		for _, spread := range spec.TopologySpreadConstraints {
			Expect(spread.LabelSelector.MatchLabels).To(Equal(deployment.Spec.Selector.MatchLabels))
		}
	})

	It("has room for a cluster of 50,000 Pods (docs/performance.md)", func(ctx SpecContext) {
		const cachedPods = 50_000 * 660
		resources := only[*appsv1.Deployment](rendered(ctx, named)).Spec.Template.Spec.Containers[0].Resources
		Expect(resources.Requests.Memory().Value()).To(BeNumerically(">", 2*cachedPods), "twice the cache: the collector's share")
		Expect(resources.Limits.Memory().Value()).To(BeNumerically(">=", 2*resources.Requests.Memory().Value()))
		Expect(resources.Limits.Cpu().IsZero()).To(BeTrue(), "a throttled leader loses its lease")
	})

	It("says by digest and with pull secrets what controller and placeholder run", func(ctx SpecContext) {
		spec := only[*appsv1.Deployment](rendered(ctx, "--values=test/chart/testdata/full.yaml")).Spec.Template.Spec
		Expect(spec.Containers[0].Image).To(MatchRegexp(`^registry\.example\.com/team/noderotation:v0\.1\.0@sha256:0123[0-9a-f]{60}$`))
		Expect(spec.ImagePullSecrets).To(ConsistOf(corev1.LocalObjectReference{Name: "registry"}))
		Expect(spec.Containers[0].Args).To(ContainElements(
			MatchRegexp(`^--pause-image=registry\.example\.com/pause:3\.10@sha256:fedc[0-9a-f]{60}$`),
			"--pause-image-pull-secret=registry", "--pause-image-pull-secret=mirror"))
	})

	It("makes every placeholder the victim of every workload (§3.3)", func(ctx SpecContext) {
		class := only[*schedulingv1.PriorityClass](rendered(ctx, named))
		Expect(class.Name).To(Equal("noderotation-placeholder"))
		Expect(class.Value).To(BeNumerically("<", 0))
		Expect(*class.PreemptionPolicy).To(Equal(corev1.PreemptNever))
		Expect(class.GlobalDefault).To(BeFalse())
	})

	It("rolls the Pods when the transition table changes", func(ctx SpecContext) {
		objects := rendered(ctx, named, "--set-file=transitions=transitions.yaml")
		table := only[*corev1.ConfigMap](objects)
		Expect(table.Data["transitions.yaml"]).To(ContainSubstring("\n- id: start-fallback\n"))
		template := only[*appsv1.Deployment](objects).Spec.Template
		Expect(template.Spec.Containers[0].Args).To(ContainElement("--transitions=/etc/noderotation/transitions.yaml"))
		Expect(template.Spec.Containers[0].VolumeMounts[0].MountPath).To(Equal("/etc/noderotation"))
		Expect(template.Spec.Volumes[0].ConfigMap.Name).To(Equal(table.Name))
		other := only[*appsv1.Deployment](rendered(ctx, named, "--set=transitions=other")).Spec.Template
		Expect(template.Annotations["checksum/transitions"]).NotTo(BeEmpty())
		Expect(other.Annotations["checksum/transitions"]).NotTo(Equal(template.Annotations["checksum/transitions"]))
	})

	It("installs the CRD as it was generated, to outlive the release unless told otherwise", func(ctx SpecContext) {
		crd := only[*apiextensionsv1.CustomResourceDefinition](rendered(ctx, named))
		Expect(crd.Annotations).To(HaveKeyWithValue("helm.sh/resource-policy", "keep"))
		var generated apiextensionsv1.CustomResourceDefinition
		Expect(yaml.UnmarshalStrict(read("crds", "noderotation.io_rotationpolicies.yaml"), &generated)).To(Succeed())
		Expect(crd.Spec).To(Equal(generated.Spec))
		Expect(generated.Annotations).To(HaveKeyWithValue("meta.helm.sh/release-name", render.Release), "or Helm would not let the template take it over")
		Expect(generated.Annotations).To(HaveKeyWithValue("meta.helm.sh/release-namespace", render.Namespace))
		Expect(generated.Labels).To(HaveKeyWithValue("app.kubernetes.io/managed-by", "Helm"))
		Expect(only[*apiextensionsv1.CustomResourceDefinition](rendered(ctx, named, "--set=crds.keep=false")).Annotations).
			NotTo(HaveKey("helm.sh/resource-policy"))
	})

	It("leaves policies to their owner when it goes", func(ctx SpecContext) {
		policies := render.Of[*v1alpha1.RotationPolicy](rendered(ctx, "--values=test/chart/testdata/full.yaml"))
		Expect(policies).To(HaveLen(2))
		for _, policy := range policies {
			Expect(policy.Annotations).To(Equal(map[string]string{"helm.sh/resource-policy": "keep"}))
		}
		for _, policy := range render.Of[*v1alpha1.RotationPolicy](rendered(ctx, "--values=test/chart/testdata/full.yaml", "--set=crds.keep=false")) {
			Expect(policy.Annotations).To(BeEmpty())
		}
	})

	It("links every alert to the runbook that the values name", func(ctx SpecContext) {
		objects := rendered(ctx, "--values=test/chart/testdata/monitored.yaml")
		rules := only[*monitoringv1.PrometheusRule](objects)
		Expect(rules.Spec.Groups).NotTo(BeEmpty())
		for _, group := range rules.Spec.Groups {
			for _, rule := range group.Rules {
				if rule.Alert != "" {
					Expect(rule.Annotations["runbook_url"]).To(HavePrefix("https://runbooks.example.com/noderotation"), rule.Alert)
				}
			}
		}
		Expect(only[*corev1.ConfigMap](objects).Data).To(HaveKey("noderotation.json"))
	})
})

// kinds are the kinds of the objects, each once, in order.
func kinds(objects render.Objects) []string {
	var all []string
	for _, object := range objects {
		all = append(all, object.GetObjectKind().GroupVersionKind().Kind)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// expectNamesApart holds that no two objects are one, and that each says where it lives, or that it lives nowhere.
func expectNamesApart(objects render.Objects) {
	GinkgoHelper()
	global := []string{
		"ClusterRole", "ClusterRoleBinding", "CustomResourceDefinition", "PriorityClass", "RotationPolicy",
		"ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding",
	}
	seen := map[string]bool{}
	for _, object := range objects {
		kind := object.GetObjectKind().GroupVersionKind().Kind
		key := fmt.Sprintf("%s %s/%s", kind, object.GetNamespace(), object.GetName())
		Expect(seen).NotTo(HaveKey(key))
		seen[key] = true
		Expect(slices.Contains(global, kind)).To(Equal(object.GetNamespace() == ""), key)
		Expect(object.GetLabels()).To(HaveKeyWithValue("app.kubernetes.io/managed-by", "Helm"), key)
	}
}

// expectSelectorsMeet holds that whatever selects Pods selects the controller's, and never a placeholder, which lives in
// the same namespace.
func expectSelectorsMeet(objects render.Objects) {
	GinkgoHelper()
	deployment := only[*appsv1.Deployment](objects)
	selectors := []map[string]string{deployment.Spec.Selector.MatchLabels}
	for _, service := range render.Of[*corev1.Service](objects) {
		selectors = append(selectors, service.Spec.Selector)
	}
	for _, budget := range render.Of[*policyv1.PodDisruptionBudget](objects) {
		selectors = append(selectors, budget.Spec.Selector.MatchLabels)
	}
	for _, network := range render.Of[*networkingv1.NetworkPolicy](objects) {
		selectors = append(selectors, network.Spec.PodSelector.MatchLabels)
	}
	for _, selector := range selectors {
		Expect(labels.SelectorFromSet(selector).Matches(labels.Set(deployment.Spec.Template.Labels))).To(BeTrue())
		Expect(labels.SelectorFromSet(selector).Matches(labels.Set(rotation.PlaceholderLabels()))).To(BeFalse())
	}
	for _, monitor := range render.Of[*monitoringv1.ServiceMonitor](objects) {
		service := only[*corev1.Service](objects)
		Expect(labels.SelectorFromSet(monitor.Spec.Selector.MatchLabels).Matches(labels.Set(service.Labels))).To(BeTrue())
		Expect(monitor.Spec.Endpoints[0].Port).To(Equal(service.Spec.Ports[0].Name))
	}
	account := deployment.Spec.Template.Spec.ServiceAccountName
	for _, subject := range subjects(objects) {
		Expect(subject).To(Equal(rbacv1.Subject{Kind: "ServiceAccount", Name: account, Namespace: render.Namespace}))
	}
	for _, made := range render.Of[*corev1.ServiceAccount](objects) {
		Expect(made.Name).To(Equal(account))
	}
	for _, policy := range render.Of[*admissionv1.ValidatingAdmissionPolicy](objects) {
		Expect(policy.Spec.MatchConditions[0].Expression).To(ContainSubstring(
			"%q", "system:serviceaccount:"+render.Namespace+":"+account))
		binding := only[*admissionv1.ValidatingAdmissionPolicyBinding](objects)
		Expect(binding.Spec.PolicyName).To(Equal(policy.Name))
	}
}

// subjects are all whom a binding names.
func subjects(objects render.Objects) []rbacv1.Subject {
	var all []rbacv1.Subject
	for _, binding := range render.Of[*rbacv1.ClusterRoleBinding](objects) {
		all = append(all, binding.Subjects...)
	}
	for _, binding := range render.Of[*rbacv1.RoleBinding](objects) {
		all = append(all, binding.Subjects...)
	}
	return slices.CompactFunc(all, func(a, b rbacv1.Subject) bool { return reflect.DeepEqual(a, b) })
}

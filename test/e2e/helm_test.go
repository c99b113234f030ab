// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"noderotation.io/noderotation/test/cluster"
	"noderotation.io/noderotation/test/e2e/manifests"
	"noderotation.io/noderotation/test/e2e/process"
)

// helmPatience bounds the life of a release, with a cluster of its own and helm perhaps still to be compiled.
const helmPatience = 10 * time.Minute

var _ = Describe("A release of the chart", Ordered, func() {
	// No Pod runs here: there is no kubelet to run one, and the other scenarios run the controller.
	var r *installation

	BeforeAll(func(ctx SpecContext) {
		bare, err := cluster.Start(ctx, cluster.Options{Name: "helm", Log: GinkgoWriter, WithoutKarpenter: true, WithoutKwok: true})
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(bare.Stop)
		r = &installation{Cluster: bare, folder: GinkgoT().TempDir(), chart: manifests.Chart(), name: "noderotation", namespace: manifests.Namespace}
	}, NodeTimeout(helmPatience))

	var firstUID, handmade types.UID

	It("brings the CRD and its policies along at once, on a cluster that knows neither", func(ctx SpecContext) {
		r.helm(ctx, "install", r.values(policyValue("api", "02:00"), policyValue("web", "03:00")))
		Expect(r.opens(ctx, "api")).To(Equal("02:00"))
		Expect(r.opens(ctx, "web")).To(Equal("03:00"))
		firstUID = r.policy(ctx, "api").GetUID()
		Expect(r.applies(ctx, "handmade")).To(Succeed())
		handmade = r.policy(ctx, "handmade").GetUID()
	}, SpecTimeout(helmPatience))

	It("is upgraded with CRD and policies, none of which is made anew", func(ctx SpecContext) {
		Expect(r.field(ctx)).To(BeFalse())
		r.chart = r.withNewField()
		said := r.helm(ctx, "upgrade", "--wait", "--timeout=2m", r.values(policyValue("api", "04:00")))
		Expect(r.field(ctx)).To(BeTrue(), "the CRD is the new chart's")
		Expect(r.opens(ctx, "api")).To(Equal("04:00"))
		Expect(r.policy(ctx, "api").GetUID()).To(Equal(firstUID))
		Expect(r.opens(ctx, "web")).To(Equal("03:00"), "a policy that left the values is kept")
		Expect(said).To(ContainSubstring("RotationPolicy web is not among the values any more, but still governs."))
		Expect(said).To(ContainSubstring("kubectl delete rotationpolicy web"))
		Expect(said).NotTo(ContainSubstring("handmade"))
	}, SpecTimeout(helmPatience))

	It("takes a policy back that has returned to the values", func(ctx SpecContext) {
		r.helm(ctx, "upgrade", "--wait", "--timeout=2m", r.values(policyValue("api", "05:00"), policyValue("web", "05:30")))
		Expect(r.opens(ctx, "api")).To(Equal("05:00"))
		Expect(r.opens(ctx, "web")).To(Equal("05:30"))
		Expect(r.policy(ctx, "api").GetUID()).To(Equal(firstUID))
	}, SpecTimeout(helmPatience))

	It("is rolled back with its CRD, and without losing a policy", func(ctx SpecContext) {
		r.helm(ctx, "rollback", "--wait", "--timeout=2m", "1")
		Expect(r.field(ctx)).To(BeFalse(), "the CRD is the old chart's")
		Expect(r.policy(ctx, "api").GetUID()).To(Equal(firstUID))
		Expect(r.policy(ctx, "web")).NotTo(BeNil())
	}, SpecTimeout(helmPatience))

	It("takes itself away and leaves CRD and policies", func(ctx SpecContext) {
		r.helm(ctx, "uninstall", "--wait", "--timeout=2m")
		_, err := r.Client().AppsV1().Deployments(manifests.Namespace).Get(ctx, "noderotation", metav1.GetOptions{})
		Expect(apierrors.IsNotFound(err)).To(BeTrue(), "the Deployment is gone: %v", err)
		Expect(r.policy(ctx, "api").GetUID()).To(Equal(firstUID))
		Expect(r.policy(ctx, "handmade").GetUID()).To(Equal(handmade))
	}, SpecTimeout(helmPatience))

	It("is installed again over what it left", func(ctx SpecContext) {
		r.chart = manifests.Chart()
		r.helm(ctx, "install", "--wait", "--timeout=2m", r.values(policyValue("api", "06:00")))
		Expect(r.opens(ctx, "api")).To(Equal("06:00"))
		Expect(r.policy(ctx, "api").GetUID()).To(Equal(firstUID))
		Expect(r.policy(ctx, "handmade").GetUID()).To(Equal(handmade))
	}, SpecTimeout(helmPatience))

	It("is refused beside itself under another name, and takes over what the first has left when told to", func(ctx SpecContext) {
		r.name, r.namespace = "other", "elsewhere"
		_, err := r.try(ctx, "install")
		Expect(err).To(MatchError(ContainSubstring("invalid ownership metadata")))
		r.name, r.namespace = "noderotation", manifests.Namespace
		r.helm(ctx, "uninstall", "--wait", "--timeout=2m")

		r.name, r.namespace = "other", "elsewhere"
		_, err = r.try(ctx, "install", r.values(policyValue("api", "07:00")))
		Expect(err).To(MatchError(ContainSubstring("invalid ownership metadata")))
		r.helm(ctx, "install", "--take-ownership", r.values(policyValue("api", "07:00")))
		Expect(r.opens(ctx, "api")).To(Equal("07:00"))
		Expect(r.policy(ctx, "api").GetUID()).To(Equal(firstUID))
		r.helm(ctx, "upgrade", r.values(policyValue("api", "07:30")))
		Expect(r.opens(ctx, "api")).To(Equal("07:30"))
	}, SpecTimeout(helmPatience))

	It("takes everything with it when told to", func(ctx SpecContext) {
		r.helm(ctx, "upgrade", "--wait", "--timeout=2m", "--set=crds.keep=false", r.values(policyValue("api", "06:00")))
		r.helm(ctx, "uninstall", "--wait", "--timeout=2m")
		_, err := r.Dynamic().Resource(definitions).Get(ctx, "rotationpolicies.noderotation.io", metav1.GetOptions{})
		Expect(apierrors.IsNotFound(err)).To(BeTrue(), "the CRD is gone: %v", err)
	}, SpecTimeout(helmPatience))
})

// installation is a release of the chart on a cluster of its own.
type installation struct {
	*cluster.Cluster
	folder    string
	chart     string
	name      string
	namespace string
}

// helm runs one of helm's verbs on the release.
func (r *installation) helm(ctx context.Context, verb string, arguments ...string) string {
	GinkgoHelper()
	said, err := r.try(ctx, verb, arguments...)
	Expect(err).NotTo(HaveOccurred())
	return said
}

// try is helm where the verb may fail.
func (r *installation) try(ctx context.Context, verb string, arguments ...string) (said string, err error) {
	line := []string{verb, r.name, "--namespace=" + r.namespace}
	if verb == "install" {
		line = append(line, "--create-namespace")
	}
	if verb == "install" || verb == "upgrade" {
		line = append(line, r.chart, "--set=image.repository=registry.example.com/noderotation", "--set=replicas=0")
	}
	return process.Helm(ctx, r.Kubeconfig(), r.folder, append(line, arguments...)...)
}

// policyValue is a policy among the values, with a window that opens at a time of day.
func policyValue(name, opens string) string {
	return fmt.Sprintf(`{"name":%q,"spec":{"nodePoolSelector":{"matchLabels":{"fleet":%q}},"maintenanceWindows":[`+
		`{"timezone":"UTC","days":["Mon","Thu"],"start":%q,"end":"08:00"}]}}`, name, name, opens)
}

func (r *installation) values(policies ...string) string {
	return "--set-json=rotationPolicies=[" + strings.Join(policies, ",") + "]"
}

func (r *installation) policy(ctx context.Context, name string) *unstructured.Unstructured {
	GinkgoHelper()
	found, err := r.Dynamic().Resource(policies).Get(ctx, name, metav1.GetOptions{})
	Expect(err).NotTo(HaveOccurred())
	return found
}

// opens is when the policy's window opens.
func (r *installation) opens(ctx context.Context, name string) string {
	GinkgoHelper()
	windows, _, err := unstructured.NestedSlice(r.policy(ctx, name).Object, "spec", "maintenanceWindows")
	Expect(err).NotTo(HaveOccurred())
	Expect(windows).To(HaveLen(1))
	window, _ := windows[0].(map[string]any)
	start, _ := window["start"].(string)
	return start
}

// applies makes a policy without Helm.
func (r *installation) applies(ctx context.Context, name string) error {
	return r.Apply(ctx, fmt.Appendf(nil, `{"apiVersion":"noderotation.io/v1alpha1","kind":"RotationPolicy","metadata":{"name":%q},`+
		`"spec":{"nodePoolSelector":{"matchLabels":{"fleet":%q}},"maintenanceWindows":[{"timezone":"UTC","days":["Sun"],"start":"01:00","end":"02:00"}]}}`, name, name))
}

// newField is what the next version of the CRD has and this one has not.
const newField = "brandNew"

// withNewField is a copy of the chart whose CRD has one field more.
func (r *installation) withNewField() string {
	GinkgoHelper()
	next := filepath.Join(r.folder, "next")
	Expect(os.CopyFS(next, os.DirFS(manifests.Chart()))).To(Succeed())
	path := filepath.Join(next, "crds", "noderotation.io_rotationpolicies.yaml")
	content, err := os.ReadFile(path)
	Expect(err).NotTo(HaveOccurred())
	const before = "              ageThreshold:\n"
	Expect(string(content)).To(ContainSubstring(before))
	changed := strings.Replace(string(content), before, "              "+newField+":\n                type: string\n"+before, 1)
	Expect(os.WriteFile(path, []byte(changed), 0o600)).To(Succeed())
	return next
}

// field tells whether the CRD on the cluster has the new field.
func (r *installation) field(ctx context.Context) bool {
	GinkgoHelper()
	crd, err := r.Dynamic().Resource(definitions).Get(ctx, "rotationpolicies.noderotation.io", metav1.GetOptions{})
	Expect(err).NotTo(HaveOccurred())
	versions, _, err := unstructured.NestedSlice(crd.Object, "spec", "versions")
	Expect(err).NotTo(HaveOccurred())
	version, _ := versions[0].(map[string]any)
	_, found, err := unstructured.NestedMap(version, "schema", "openAPIV3Schema", "properties", "spec", "properties", newField)
	Expect(err).NotTo(HaveOccurred())
	return found
}

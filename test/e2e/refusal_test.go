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
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"noderotation.io/noderotation"
	"noderotation.io/noderotation/test/cluster"
	"noderotation.io/noderotation/test/e2e/manifests"
	"noderotation.io/noderotation/test/e2e/process"
)

// refusalPatience bounds a start that is to be refused, with a cluster of its own where it needs one.
const refusalPatience = time.Minute

var definitions = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}

var _ = Describe("A controller that cannot do its work refuses to start", func() {
	It("with a table that breaks a law: law, row and line (architecture.md, the laws)", func(ctx SpecContext) {
		table := string(noderotation.Transitions)
		broken := strings.Replace(table, "freeze_host, ", "", 1)
		Expect(broken).NotTo(Equal(table))
		before, _, _ := strings.Cut(table, "freeze_host, ")
		line := strings.Count(before, "\n") + 1
		file := filepath.Join(GinkgoT().TempDir(), "table.yaml")
		Expect(os.WriteFile(file, []byte(broken), 0o600)).To(Succeed())

		Expect(refusal(ctx, shared.Kubeconfig(), "--transitions="+file)).To(
			ContainSubstring("%s:%d: row drain breaks law protected: ", file, line))
	}, SpecTimeout(refusalPatience))

	It("without permissions: every one that is missing (§4.3, §5.1)", func(ctx SpecContext) {
		kubeconfig, err := shared.KubeconfigFor("nobody", nil)
		Expect(err).NotTo(HaveOccurred())
		said := refusal(ctx, kubeconfig)
		for _, resource := range []string{"nodeclaims.karpenter.sh", "nodepools.karpenter.sh", "rotationpolicies.noderotation.io"} {
			Expect(said).To(ContainSubstring("preflight: RBAC does not let this service account list %s; grant ", resource))
		}
	}, SpecTimeout(refusalPatience))

	It("without what it works with: Karpenter, and its own CRD (§5.1)", func(ctx SpecContext) {
		bare, err := cluster.Start(ctx, cluster.Options{Name: "bare", Log: GinkgoWriter, WithoutKarpenter: true, WithoutKwok: true})
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(bare.Stop)
		Expect(bare.Dynamic().Resource(definitions).Delete(ctx, "nodepools.karpenter.sh", metav1.DeleteOptions{})).To(Succeed())
		Expect(bare.WaitFor(ctx, "NodePools are not served any more", func(context.Context) (bool, error) {
			served, err := bare.Client().Discovery().ServerResourcesForGroupVersion(nodePools.GroupVersion().String())
			if err != nil {
				return false, fmt.Errorf("the bare cluster does not say what it serves: %w", err)
			}
			for _, resource := range served.APIResources {
				if resource.Name == nodePools.Resource {
					return false, nil
				}
			}
			return true, nil
		})).To(Succeed())

		said := refusal(ctx, bare.Kubeconfig())
		Expect(said).To(ContainSubstring("preflight: the cluster serves karpenter.sh/v1 without nodepools: install Karpenter v1 or later"))
		Expect(said).To(ContainSubstring("preflight: the cluster does not serve noderotation.io/v1alpha1: install the CRD of RotationPolicy"))
	}, SpecTimeout(refusalPatience))
})

// refusal is what a controller says that does not start.
func refusal(ctx context.Context, kubeconfig string, flags ...string) string {
	GinkgoHelper()
	said, err := process.Refusal(ctx, process.Options{
		Binary: binary, Kubeconfig: kubeconfig, Namespace: manifests.Namespace, Flags: flags,
	})
	Expect(err).NotTo(HaveOccurred(), "%s", said)
	return said
}

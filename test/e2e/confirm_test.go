// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"noderotation.io/noderotation/controller"
	"noderotation.io/noderotation/effects"
	"noderotation.io/noderotation/rotation"
	"noderotation.io/noderotation/test/e2e/manifests"
)

// wall is the machine's clock.
type wall struct{}

func (wall) Now() time.Time                  { return time.Now() }
func (wall) Since(t time.Time) time.Duration { return time.Since(t) }

var _ = Describe("The API server, asked whether a NodeClaim is still as it was decided on", func() {
	It("refuses what is asked of a version that has passed, and makes no new version otherwise (architecture.md, conditional writes)", func(ctx SpecContext) {
		s, f := begin(ctx), fleetOf("confirm", 1)
		s.stands(ctx, f)
		claims := shared.Dynamic().Resource(nodeClaims)
		decidedOn := func() rotation.Object {
			claim, err := claims.Get(ctx, f.Originals[0], metav1.GetOptions{})
			Expect(err).NotTo(HaveOccurred())
			return rotation.Object{Name: claim.GetName(), UID: claim.GetUID(), ResourceVersion: claim.GetResourceVersion()}
		}
		scheme, err := controller.NewScheme()
		Expect(err).NotTo(HaveOccurred())
		server, err := client.New(shared.RESTConfig(), client.Options{Scheme: scheme})
		Expect(err).NotTo(HaveOccurred())
		applier := controller.Applier{Client: server, Own: controller.NewOwnWrites(), Clock: wall{}}
		// asks for a delete of a placeholder that there is not: nothing but the question can be refused.
		asks := func(subject rotation.Object) error {
			_, err := applier.Apply(ctx, f.Name, time.Now(), []effects.Action{
				effects.DeletePod{Namespace: manifests.Namespace, Name: "surge-for-nobody", UID: "nobody", Subject: subject},
			})
			return err
		}

		// Karpenter may write to a claim at any moment: then the question is put again.
		Eventually(ctx, func(g Gomega) {
			before := decidedOn()
			g.Expect(asks(before)).To(Succeed())
			g.Expect(decidedOn()).To(Equal(before))
		}).Should(Succeed())

		stale := decidedOn()
		patch := inMetadata(metav1.ObjectMeta{Annotations: map[string]string{"example.com/changed": "by another hand"}})
		_, err = claims.Patch(ctx, stale.Name, types.MergePatchType, patch, metav1.PatchOptions{})
		Expect(err).NotTo(HaveOccurred())
		Expect(apierrors.IsConflict(asks(stale))).To(BeTrue(), "%v", asks(stale))
	}, SpecTimeout(patience))
})

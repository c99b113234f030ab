// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/event"
	karpenterv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"noderotation.io/noderotation/api/v1alpha1"
	"noderotation.io/noderotation/rotation"
)

// A NodePool wakes the status of the policies when what they show changes, and by nothing else (§5.4).
func TestStatusIsWokenByWhatItShows(t *testing.T) {
	pool := func(edit func(*karpenterv1.NodePool)) *karpenterv1.NodePool {
		np := &karpenterv1.NodePool{ObjectMeta: metav1.ObjectMeta{
			Name: "api", Labels: map[string]string{"workload": "api"}, Annotations: map[string]string{rotation.KeyActiveRotation: "api-1"}}}
		edit(np)
		return np
	}
	for name, c := range map[string]struct {
		edit  func(*karpenterv1.NodePool)
		wakes bool
	}{
		"a label":            {func(np *karpenterv1.NodePool) { np.Labels["workload"] = "web" }, true},
		"the anchor's end":   {func(np *karpenterv1.NodePool) { np.Annotations = nil }, true},
		"another anchor":     {func(np *karpenterv1.NodePool) { np.Annotations[rotation.KeyActiveRotation] = "api-2" }, false},
		"the mirror":         {func(np *karpenterv1.NodePool) { np.Annotations[rotation.KeyActiveRotationState] = "draining" }, false},
		"Karpenter's status": {func(np *karpenterv1.NodePool) { np.Generation, np.ResourceVersion = 7, "9" }, false},
	} {
		t.Run(name, func(t *testing.T) {
			update := event.UpdateEvent{ObjectOld: pool(func(*karpenterv1.NodePool) {}), ObjectNew: pool(c.edit)}
			NewWithT(t).Expect(shownByStatus().Update(update)).To(Equal(c.wakes))
		})
	}
	g := NewWithT(t)
	g.Expect(shownByStatus().Create(event.CreateEvent{Object: pool(func(*karpenterv1.NodePool) {})})).To(BeTrue())
	g.Expect(shownByStatus().Delete(event.DeleteEvent{Object: pool(func(*karpenterv1.NodePool) {})})).To(BeTrue())
}

// One change can alter the status of any policy (§5.4, policy change propagation).
func TestAChangeWakesTheStatusOfEveryPolicy(t *testing.T) {
	g := NewWithT(t)
	scheme, err := NewScheme()
	g.Expect(err).NotTo(HaveOccurred())
	reader := fake.NewClientBuilder().WithScheme(scheme).WithObjects(
		&v1alpha1.RotationPolicy{ObjectMeta: metav1.ObjectMeta{Name: "api"}},
		&v1alpha1.RotationPolicy{ObjectMeta: metav1.ObjectMeta{Name: "rest"}}).Build()
	r := &RotationPolicyStatusReconciler{Client: reader}
	var woken []string
	for _, request := range r.everyPolicy(context.Background(), &karpenterv1.NodePool{}) {
		woken = append(woken, request.Name)
	}
	g.Expect(woken).To(ConsistOf("api", "rest"))
}

// A sentence names a few objects, and counts the rest.
func TestListed(t *testing.T) {
	many := []string{"a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l"}
	for want, names := range map[string][]string{
		"NodePool a":           {"a"},
		"NodePools a and b":    {"a", "b"},
		"NodePools a, b and c": {"a", "b", "c"},
		"NodePools a, b, c, d, e, f, g, h, i, j and 2 more": many,
	} {
		NewWithT(t).Expect(listed("NodePools", names)).To(Equal(want))
	}
}

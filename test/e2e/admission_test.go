// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/clientcmd"

	"noderotation.io/noderotation/rotation"
	"noderotation.io/noderotation/test/e2e/manifests"
)

var nodes = schema.GroupVersionResource{Version: "v1", Resource: "nodes"}

// The users that the admission policy is tried with; admin, a member of system:masters, is shared.Dynamic().
const (
	karpenterUser = "system:karpenter"
	// operatorUser may do everything by RBAC, and is in no exempt group.
	operatorUser = "operator"
)

var _ = Describe("The bookkeeping of a rotation, by the chart's admission policy", func() {
	It("is written by the controller alone, and keeps nobody from anything else", func(ctx SpecContext) {
		s, f := begin(ctx), fleetOf("guarded", 1)
		s.stands(ctx, f)
		mayDoEverything(ctx, operatorUser)
		claim := f.Originals[0]
		objects := []guarded{
			{nodePools, f.Name, bookkeepingOn("NodePool")}, {nodeClaims, claim, bookkeepingOn("NodeClaim")},
			{nodes, s.nodeOf(ctx, claim), bookkeepingOn("Node")},
		}
		controller, karpenter, operator, exempt := as(manifests.User), as(karpenterUser), as(operatorUser), shared.Dynamic()

		for _, object := range objects {
			Expect(object.keys).NotTo(BeEmpty())
			By("trying every key on " + object.resource.Resource)
			for _, key := range object.keys {
				for _, other := range []dynamic.Interface{karpenter, operator} {
					object.expectRefused(object.annotate(ctx, other, key, "x"), key)
				}
				Expect(object.annotate(ctx, controller, key, "x")).To(Succeed())
				for _, other := range []dynamic.Interface{karpenter, operator} {
					object.expectRefused(object.annotate(ctx, other, key, "y"), key)
					object.expectRefused(object.clear(ctx, other, key), key)
					Expect(object.annotate(ctx, other, key, "x")).To(Succeed(), "an unchanged value")
					Expect(object.annotate(ctx, other, "example.com/note", key)).To(Succeed(), "another annotation beside it")
				}
				Expect(object.annotate(ctx, exempt, key, "y")).To(Succeed())
				Expect(object.clear(ctx, exempt, key)).To(Succeed())
				Expect(object.annotate(ctx, controller, key, "x")).To(Succeed())
				Expect(object.clear(ctx, controller, key)).To(Succeed())
			}
			By("leaving to everybody what is everybody's")
			for _, other := range []dynamic.Interface{karpenter, operator} {
				for _, key := range []string{rotation.KeyFreeze, rotation.KeyDoNotDisrupt} {
					Expect(object.annotate(ctx, other, key, "2026-01-10T02:00:00Z")).To(Succeed())
					Expect(object.clear(ctx, other, key)).To(Succeed())
				}
			}
		}
	}, SpecTimeout(patience))

	It("is guarded by expressions that fit the types of what they judge", func(ctx SpecContext) {
		Eventually(ctx, func(g Gomega) {
			policy, err := shared.Client().AdmissionregistrationV1().ValidatingAdmissionPolicies().Get(ctx, "noderotation-bookkeeping", metav1.GetOptions{})
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(policy.Status.ObservedGeneration).To(Equal(policy.Generation), "the types have been checked")
			g.Expect(policy.Status.TypeChecking.ExpressionWarnings).To(BeEmpty())
		}).WithTimeout(30 * time.Second).Should(Succeed())
	}, SpecTimeout(patience))

	It("comes in by no other way: not at birth, not by an update, not through a Node's status", func(ctx SpecContext) {
		s, f := begin(ctx), fleetOf("sideways", 1)
		s.stands(ctx, f)
		mayDoEverything(ctx, operatorUser)
		operator := as(operatorUser)

		pool, err := operator.Resource(nodePools).Get(ctx, f.Name, metav1.GetOptions{})
		Expect(err).NotTo(HaveOccurred())
		pool.SetAnnotations(map[string]string{rotation.KeyActiveRotation: "x"})
		_, err = operator.Resource(nodePools).Update(ctx, pool, metav1.UpdateOptions{})
		guarded{resource: nodePools, name: f.Name}.expectRefused(err, rotation.KeyActiveRotation)

		born := &unstructured.Unstructured{Object: map[string]any{"spec": pool.Object["spec"]}}
		born.SetGroupVersionKind(pool.GroupVersionKind())
		born.SetName("born-anchored")
		born.SetAnnotations(map[string]string{rotation.KeyActiveRotation: "x"})
		_, err = operator.Resource(nodePools).Create(ctx, born, metav1.CreateOptions{})
		guarded{resource: nodePools, name: "born-anchored"}.expectRefused(err, rotation.KeyActiveRotation)

		node := s.nodeOf(ctx, f.Originals[0])
		_, err = operator.Resource(nodes).Patch(ctx, node, types.MergePatchType, annotation(rotation.KeyCordoned, "x"), metav1.PatchOptions{}, "status")
		guarded{resource: nodes, name: node}.expectRefused(err, rotation.KeyCordoned)
	}, SpecTimeout(patience))

	It("keeps nobody from deleting what bears it, and Karpenter not from letting it go", func(ctx SpecContext) {
		s, f := begin(ctx), fleetOf("doomed", 1, func(f *fleet) { f.Workload.MaxUnavailable = nil })
		s.stands(ctx, f)
		mayDoEverything(ctx, operatorUser)
		controller, operator, claim := as(manifests.User), as(operatorUser), f.Originals[0]
		Expect(guarded{resource: nodePools, name: f.Name}.annotate(ctx, controller, rotation.KeyLastRotationAt, "2026-01-10T02:00:00Z")).To(Succeed())
		Expect(guarded{resource: nodeClaims, name: claim}.annotate(ctx, controller, rotation.KeyRetryCount, "1")).To(Succeed())
		Expect(guarded{resource: nodes, name: s.nodeOf(ctx, claim)}.annotate(ctx, controller, rotation.KeySurgeFor, claim)).To(Succeed())

		Expect(operator.Resource(nodeClaims).Delete(ctx, claim, metav1.DeleteOptions{})).To(Succeed())
		Expect(operator.Resource(nodePools).Delete(ctx, f.Name, metav1.DeleteOptions{})).To(Succeed())
		for resource, name := range map[schema.GroupVersionResource]string{nodeClaims: claim, nodePools: f.Name} {
			Eventually(ctx, func() bool {
				_, err := shared.Dynamic().Resource(resource).Get(ctx, name, metav1.GetOptions{})
				return apierrors.IsNotFound(err)
			}).WithTimeout(time.Minute).Should(BeTrue(), "%s %s goes", resource.Resource, name)
		}
	}, SpecTimeout(patience))
})

// guarded is one object with the keys that stand on its kind.
type guarded struct {
	resource schema.GroupVersionResource
	name     string
	keys     []string
}

func (g guarded) annotate(ctx context.Context, user dynamic.Interface, key, value string) error {
	_, err := user.Resource(g.resource).Patch(ctx, g.name, types.MergePatchType, annotation(key, value), metav1.PatchOptions{})
	return err
}

func (g guarded) clear(ctx context.Context, user dynamic.Interface, key string) error {
	patch := fmt.Appendf(nil, `{"metadata":{"annotations":{%q:null}}}`, key)
	_, err := user.Resource(g.resource).Patch(ctx, g.name, types.MergePatchType, patch, metav1.PatchOptions{})
	return err
}

// expectRefused holds that the policy refused, and says what, where, and what to do instead.
func (g guarded) expectRefused(err error, key string) {
	GinkgoHelper()
	Expect(apierrors.IsForbidden(err)).To(BeTrue(), "%v", err)
	Expect(err).To(MatchError(And(
		ContainSubstring("denied request: %s on %s/%s may be written by the controller of noderotation only.", key, g.resource.Resource, g.name),
		ContainSubstring("as a member of system:masters: see the runbook, Releasing a pool by hand."),
	)))
}

func annotation(key, value string) []byte {
	return fmt.Appendf(nil, `{"metadata":{"annotations":{%q:%q}}}`, key, value)
}

// as is a client of a user that RBAC and admission judge like any other.
func as(user string) dynamic.Interface {
	GinkgoHelper()
	path, err := shared.KubeconfigFor(user, nil)
	Expect(err).NotTo(HaveOccurred())
	config, err := clientcmd.BuildConfigFromFlags("", path)
	Expect(err).NotTo(HaveOccurred())
	config.QPS = -1
	client, err := dynamic.NewForConfig(config)
	Expect(err).NotTo(HaveOccurred())
	return client
}

// mayDoEverything gives a user every right, but no group.
func mayDoEverything(ctx context.Context, user string) {
	GinkgoHelper()
	_, err := shared.Client().RbacV1().ClusterRoleBindings().Create(ctx, &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: user},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "cluster-admin"},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: user}},
	}, metav1.CreateOptions{})
	if !apierrors.IsAlreadyExists(err) {
		Expect(err).NotTo(HaveOccurred())
	}
	Eventually(ctx, func() error {
		_, err := as(user).Resource(nodePools).List(ctx, metav1.ListOptions{Limit: 1})
		return err
	}).Should(Succeed(), "RBAC knows of it")
}

// admissionIsInForce returns once the API server enforces the policy, which takes it a moment.
func admissionIsInForce(ctx context.Context) {
	GinkgoHelper()
	mayDoEverything(ctx, operatorUser)
	operator := as(operatorUser)
	probe := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Node"}}
	probe.SetName("probe")
	probe.SetAnnotations(map[string]string{rotation.KeyCordoned: "x"})
	Eventually(ctx, func() error {
		_, err := operator.Resource(nodes).Create(ctx, probe, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		return err
	}).WithTimeout(30 * time.Second).Should(MatchError(ContainSubstring("may be written by the controller of noderotation only")))
}

// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	testclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	karpenterv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
)

var noon = time.Date(2026, time.January, 10, 12, 0, 0, 500, time.UTC)

// byColour indexes Nodes by an annotation.
var byColour = Index{Node, "colour", func(o client.Object) []string {
	if colour := o.GetAnnotations()["colour"]; colour != "" {
		return []string{colour}
	}
	return nil
}}

func aCluster(objects ...client.Object) *Cluster {
	c := New(testclock.NewFakePassiveClock(noon), []Index{byColour})
	Expect(c.Load(objects...)).To(Succeed())
	return c
}

func aNode(name string, annotations map[string]string) *corev1.Node {
	return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID("uid-of-" + name), Annotations: annotations}}
}

func aClaim(name string, finalizers ...string) *karpenterv1.NodeClaim {
	return &karpenterv1.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID("uid-of-" + name), Finalizers: finalizers}}
}

func aPod(name, node string, grace int64) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "app", Name: name, Labels: map[string]string{"app": "x"}},
		Spec:       corev1.PodSpec{NodeName: node, TerminationGracePeriodSeconds: &grace},
		Status:     corev1.PodStatus{Phase: corev1.PodRunning},
	}
}

func merge(body string) client.Patch { return client.RawPatch(types.MergePatchType, []byte(body)) }

func jsonOps(body string) client.Patch { return client.RawPatch(types.JSONPatchType, []byte(body)) }

var _ = Describe("The API server's answers", func() {
	ctx := context.Background()
	uid := func(s string) client.Preconditions { u := types.UID(s); return client.Preconditions{UID: &u} }
	request := func(do func(client.Client) error) error {
		c := aCluster(aNode("n", map[string]string{"a": "1"}), aNode("bare", nil), aClaim("held", "karpenter.sh/termination"), aClaim("free"))
		return do(NewClient(c, nil, nil))
	}

	DescribeTable("to requests", func(do func(client.Client) error, is func(error) bool) {
		Expect(request(do)).To(Satisfy(is))
	},
		Entry("get what is not there: 404", func(c client.Client) error {
			return c.Get(ctx, client.ObjectKey{Name: "nobody"}, &corev1.Node{})
		}, apierrors.IsNotFound),
		Entry("create what exists: 409 AlreadyExists", func(c client.Client) error { return c.Create(ctx, aNode("n", nil)) }, apierrors.IsAlreadyExists),
		Entry("create with a resourceVersion: 400", func(c client.Client) error {
			node := aNode("new", nil)
			node.ResourceVersion = "1"
			return c.Create(ctx, node)
		}, apierrors.IsBadRequest),
		Entry("update of an older version: 409 Conflict", func(c client.Client) error {
			node := aNode("n", nil)
			node.ResourceVersion = "77"
			return c.Update(ctx, node)
		}, apierrors.IsConflict),
		Entry("update of another UID: 409 Conflict", func(c client.Client) error {
			node := aNode("n", nil)
			node.UID = "another"
			return c.Update(ctx, node)
		}, apierrors.IsConflict),
		Entry("update of a custom resource without a version: 422", func(c client.Client) error { return c.Update(ctx, aClaim("free")) }, apierrors.IsInvalid),
		Entry("update of what is not there: 404", func(c client.Client) error { return c.Update(ctx, aNode("nobody", nil)) }, apierrors.IsNotFound),
		Entry("merge patch of an older version: 409 Conflict", func(c client.Client) error {
			return c.Patch(ctx, aClaim("held"), merge(`{"metadata":{"uid":"uid-of-held","resourceVersion":"99","annotations":{"a":"b"}}}`))
		}, apierrors.IsConflict),
		Entry("merge patch of another UID: 422 with its cause", func(c client.Client) error {
			return c.Patch(ctx, aClaim("held"), merge(`{"metadata":{"uid":"another","annotations":{"a":"b"}}}`))
		}, invalidWithCause),
		Entry("patch of what is not there: 404", func(c client.Client) error {
			return c.Patch(ctx, aClaim("nobody"), merge(`{"metadata":{"annotations":{"a":"b"}}}`))
		}, apierrors.IsNotFound),
		Entry("JSON patch with a failed test: 422 without a cause", func(c client.Client) error {
			return c.Patch(ctx, aNode("n", nil), jsonOps(`[{"op":"test","path":"/metadata/annotations/a","value":"2"}]`))
		}, invalidWithoutCause),
		Entry("JSON patch with a test on what is missing altogether: 422 without a cause", func(c client.Client) error {
			return c.Patch(ctx, aNode("bare", nil), jsonOps(`[{"op":"test","path":"/metadata/annotations/a","value":null}]`))
		}, invalidWithoutCause),
		Entry("JSON patch that removes what is not there: 422 without a cause", func(c client.Client) error {
			return c.Patch(ctx, aNode("n", nil), jsonOps(`[{"op":"remove","path":"/metadata/annotations/z"}]`))
		}, invalidWithoutCause),
		Entry("delete of another UID: 409 Conflict", func(c client.Client) error { return c.Delete(ctx, aClaim("held"), uid("another")) }, apierrors.IsConflict),
		Entry("delete of what is not there: 404", func(c client.Client) error { return c.Delete(ctx, aClaim("nobody")) }, apierrors.IsNotFound),
		Entry("list by an index that is not there: an error", func(c client.Client) error {
			return c.List(ctx, &corev1.NodeList{}, client.MatchingFields{"shape": "round"})
		}, func(err error) bool { return err != nil }),
	)

	It("counts one resourceVersion, and leaves an object alone that a request does not change", func() {
		c := aCluster(aNode("n", map[string]string{"a": "1"}))
		api := NewClient(c, nil, nil)
		node := aNode("n", nil)
		Expect(api.Patch(ctx, node, merge(`{"metadata":{"annotations":{"a":"1"}}}`))).To(Succeed())
		Expect(node.ResourceVersion).To(Equal("1"))
		Expect(api.Patch(ctx, node, merge(`{"metadata":{"annotations":{"a":null}}}`))).To(Succeed())
		Expect(node.ResourceVersion).To(Equal("2"))
		Expect(node.Annotations).To(BeEmpty())
	})

	It("holds an object with a finalizer until that is taken off, and deletes it once", func() {
		c := aCluster(aClaim("held", "karpenter.sh/termination"))
		api := NewClient(c, nil, nil)
		Expect(api.Delete(ctx, aClaim("held"), uid("uid-of-held"))).To(Succeed())
		claim := c.NodeClaim("held")
		Expect(claim.DeletionTimestamp.Time).To(Equal(noon.Truncate(time.Second)))
		Expect(claim.Generation).To(Equal(int64(2)))
		Expect(api.Delete(ctx, aClaim("held"))).To(Succeed())
		Expect(c.NodeClaim("held").ResourceVersion).To(Equal(claim.ResourceVersion))

		next := claim.DeepCopy()
		next.Finalizers = nil
		Expect(api.Update(ctx, next)).To(Succeed())
		Expect(c.NodeClaim("held")).To(BeNil())
	})

	It("deletes Pods gracefully: at once without a node or a grace period, else when the kubelet says so", func() {
		c := aCluster(aPod("unbound", "", 30), aPod("placeholder", "n", 0), aPod("app", "n", 30))
		api := NewClient(c, nil, nil)
		for _, name := range []string{"unbound", "placeholder", "app"} {
			Expect(api.Delete(ctx, aPod(name, "", 0))).To(Succeed())
		}
		Expect(c.Pods()).To(HaveLen(1))
		Expect(c.Pod("app", "app").DeletionTimestamp.Time).To(Equal(noon.Truncate(time.Second).Add(30 * time.Second)))
		Expect(api.Delete(ctx, aPod("app", "", 0), client.GracePeriodSeconds(0))).To(Succeed())
		Expect(c.Pods()).To(BeEmpty())
	})

	It("evicts as far as the budget allows, and counts an eviction at once (429)", func() {
		budget := &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Namespace: "app", Name: "b"}}
		budget.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": "x"}}
		budget.Status.DisruptionsAllowed = 1
		c := aCluster(budget, aPod("one", "n", 30), aPod("two", "n", 30))
		Expect(c.Evict(c.Pod("app", "one"))).To(Succeed())
		Expect(c.Evict(c.Pod("app", "two"))).To(Satisfy(apierrors.IsTooManyRequests))
		Expect(c.Pod("app", "two").DeletionTimestamp).To(BeNil())
	})

	It("writes the status by its subresource alone, and counts generations of the spec", func() {
		c := aCluster(aClaim("free"))
		api := NewClient(c, nil, nil)
		claim := c.NodeClaim("free").DeepCopy()
		claim.Status.NodeName, claim.Spec.Taints = "n", []corev1.Taint{{Key: "k"}}
		Expect(api.Update(ctx, claim)).To(Succeed())
		Expect(claim.Status.NodeName).To(BeEmpty())
		Expect(claim.Generation).To(Equal(int64(2)))
		claim = claim.DeepCopy()
		claim.Status.NodeName, claim.Spec.Taints = "n", nil
		Expect(api.Status().Update(ctx, claim)).To(Succeed())
		Expect(claim.Status.NodeName).To(Equal("n"))
		Expect(claim.Spec.Taints).To(HaveLen(1))
		Expect(claim.Generation).To(Equal(int64(2)))
	})
})

func invalidWithCause(err error) bool { return apierrors.IsInvalid(err) && len(causes(err)) > 0 }

func invalidWithoutCause(err error) bool { return apierrors.IsInvalid(err) && len(causes(err)) == 0 }

func causes(err error) []metav1.StatusCause {
	if status, ok := err.(apierrors.APIStatus); ok && status.Status().Details != nil {
		return status.Status().Details.Causes
	}
	return nil
}

var _ = Describe("A view of the cluster", func() {
	ctx := context.Background()

	It("finds objects by index, namespace and label, in order", func() {
		c := aCluster(aNode("b", map[string]string{"colour": "red"}), aNode("a", map[string]string{"colour": "red"}), aNode("c", nil))
		var nodes corev1.NodeList
		Expect(c.List(ctx, &nodes, client.MatchingFields{"colour": "red"})).To(Succeed())
		Expect(nodes.Items).To(HaveLen(2))
		Expect(nodes.Items[0].Name).To(Equal("a"))
		Edit(c, c.Node("a"), func(n *corev1.Node) { n.Annotations = map[string]string{"colour": "blue"} })
		Expect(c.NodesBy("colour", "red")).To(HaveLen(1))
		Expect(c.NodesBy("colour", "blue")).To(HaveLen(1))
	})

	It("is not touched by what happens to its clone, nor the clone by what happens to it", func() {
		c := aCluster(aNode("a", map[string]string{"colour": "red"}))
		other := c.Clone(c.Clock)
		Edit(c, c.Node("a"), func(n *corev1.Node) { n.Annotations = nil })
		Expect(other.Create(aNode("b", map[string]string{"colour": "red"}))).To(Succeed())
		Expect(c.NodesBy("colour", "red")).To(BeEmpty())
		Expect(c.Node("b")).To(BeNil())
		Expect(other.NodesBy("colour", "red")).To(HaveLen(2))
	})
})

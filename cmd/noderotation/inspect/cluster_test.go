// SPDX-License-Identifier: Apache-2.0

package inspect_test

import (
	"context"
	"fmt"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	karpenterv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"noderotation.io/noderotation/api/v1alpha1"
	"noderotation.io/noderotation/cmd/noderotation/inspect"
	"noderotation.io/noderotation/controller"
	"noderotation.io/noderotation/internal/fleet"
	"noderotation.io/noderotation/rotation"
	"noderotation.io/noderotation/sim"
	"noderotation.io/noderotation/sim/cluster"
)

// now is an hour into the window of every policy here.
var now = fleet.Opening.Add(time.Hour)

// server is an API server in memory, seen with a person's rights.
type server struct {
	*cluster.Client
	objects *cluster.Cluster
	// denied are the rights that the person lacks: "list nodes".
	denied map[string]bool
	// asked are the requests that were made, in order.
	asked  []string
	events []corev1.Event
	// overtaken is how many patches another hand is quicker than.
	overtaken int
}

// standing is a cluster with these objects.
func standing(objects ...client.Object) *server {
	GinkgoHelper()
	var indexes []cluster.Index
	for _, index := range controller.Indexes() {
		kind, err := cluster.KindOf(index.Object)
		Expect(err).NotTo(HaveOccurred())
		indexes = append(indexes, cluster.Index{Of: kind, Field: index.Field, Extract: index.Extract})
	}
	indexes = append(indexes, cluster.Index{Of: cluster.Pod, Field: "spec.nodeName", Extract: func(o client.Object) []string {
		return []string{o.(*corev1.Pod).Spec.NodeName}
	}})
	c := cluster.New(clocktesting.NewFakePassiveClock(now), indexes)
	Expect(c.Load(objects...)).To(Succeed())
	scheme, err := controller.NewScheme()
	Expect(err).NotTo(HaveOccurred())
	return &server{Client: cluster.NewClient(c, nil, scheme), objects: c, denied: map[string]bool{}}
}

func resourceOf(object any) schema.GroupResource {
	switch object.(type) {
	case *v1alpha1.RotationPolicyList:
		return schema.GroupResource{Group: "noderotation.io", Resource: "rotationpolicies"}
	case *karpenterv1.NodePool, *karpenterv1.NodePoolList:
		return schema.GroupResource{Group: "karpenter.sh", Resource: "nodepools"}
	case *karpenterv1.NodeClaim, *karpenterv1.NodeClaimList:
		return schema.GroupResource{Group: "karpenter.sh", Resource: "nodeclaims"}
	case *corev1.Node, *corev1.NodeList:
		return schema.GroupResource{Resource: "nodes"}
	case *policyv1.PodDisruptionBudgetList:
		return schema.GroupResource{Group: "policy", Resource: "poddisruptionbudgets"}
	case *corev1.EventList:
		return schema.GroupResource{Resource: "events"}
	default:
		return schema.GroupResource{Resource: "pods"}
	}
}

// may notes a request, and refuses it as RBAC does.
func (s *server) may(verb string, object any) error {
	resource := resourceOf(object)
	s.asked = append(s.asked, verb+" "+resource.String())
	if s.denied[verb+" "+resource.String()] {
		return apierrors.NewForbidden(resource, "", fmt.Errorf("user %q cannot %s it", "reader", verb))
	}
	return nil
}

func (s *server) Get(ctx context.Context, key client.ObjectKey, into client.Object, options ...client.GetOption) error {
	if err := s.may("get", into); err != nil {
		return err
	}
	if err := s.Client.Get(ctx, key, into, options...); err != nil {
		return err
	}
	into.SetAnnotations(rotation.Annotate(into.GetAnnotations(), nil)) // nobody shares what a client read
	return nil
}

func (s *server) List(ctx context.Context, into client.ObjectList, options ...client.ListOption) error {
	if err := s.may("list", into); err != nil {
		return err
	}
	if events, is := into.(*corev1.EventList); is {
		events.Items = s.events
		return nil
	}
	return s.Client.List(ctx, into, options...)
}

func (s *server) Patch(ctx context.Context, object client.Object, patch client.Patch, options ...client.PatchOption) error {
	if err := s.may("patch", object); err != nil {
		return err
	}
	if s.overtaken > 0 {
		s.overtaken--
		s.annotate(object.GetName(), "by", "another hand")
	}
	return s.Client.Patch(ctx, object, patch, options...)
}

// annotate changes a pool as another hand does.
func (s *server) annotate(pool, key, value string) {
	cluster.Edit(s.objects, s.objects.NodePool(pool), func(p *karpenterv1.NodePool) {
		p.Annotations = rotation.Annotate(p.Annotations, map[string]string{key: value})
	})
}

// inspector looks at the cluster by the built-in table.
func (s *server) inspector() *inspect.Inspector {
	return &inspect.Inspector{Server: s, Machine: theTable(GinkgoTB()), Table: "built-in table", Now: now, Namespace: "noderotation"}
}

// aPolicy of every default but the windows, Wed and Sat 02:00–06:00 Asia/Tokyo, for the pools of this workload.
func aPolicy(name, workload string) *v1alpha1.RotationPolicy {
	policy := &v1alpha1.RotationPolicy{ObjectMeta: metav1.ObjectMeta{Name: name, Generation: 1}}
	if workload != "" {
		policy.Spec.NodePoolSelector.MatchLabels = map[string]string{"workload": workload}
	}
	policy.Spec.MaintenanceWindows = []v1alpha1.MaintenanceWindow{{
		Timezone: "Asia/Tokyo", Days: []v1alpha1.Day{v1alpha1.Wednesday, v1alpha1.Saturday}, Start: "02:00", End: "06:00",
	}}
	return policy
}

// aFleet is a pool of that workload whose nodes are so old. They are called api-0, api-1 and so on, and so are their claims.
func aFleet(pool string, ages ...time.Duration) []client.Object {
	config := &sim.Config{Start: now}
	return sim.Fleet{
		Pool: pool, Labels: map[string]string{"workload": pool}, ExpireAfter: 14 * fleet.Day, TerminationGracePeriod: time.Hour,
		Ages: ages, PodsPerNode: 2, CPU: "1",
	}.Join(config, nil)
}

// with changes the object of this name among others.
func with[T client.Object](objects []client.Object, name string, change func(T)) []client.Object {
	GinkgoHelper()
	for _, o := range objects {
		if object, is := o.(T); is && object.GetName() == name {
			change(object)
			return objects
		}
	}
	Fail("there is no " + name)
	return nil
}

// annotating is a change of an object's annotations, as key and value in turn.
func annotating[T client.Object](pairs ...string) func(T) {
	return func(object T) {
		set := map[string]string{}
		for n := 0; n < len(pairs); n += 2 {
			set[pairs[n]] = pairs[n+1]
		}
		object.SetAnnotations(rotation.Annotate(object.GetAnnotations(), set))
	}
}

// pending is the fleet api in the middle of a rotation: api-0 is on its way out, api-2 its replacement, which the
// placeholder waits for.
func pending() []client.Object {
	GinkgoHelper()
	objects := append(aFleet("api", 10*fleet.Day, 2*fleet.Day, time.Minute), aPolicy("api", "api"))
	with(objects, "api", annotating[*karpenterv1.NodePool](rotation.KeyActiveRotation, "api-0"))
	with(objects, "api-0", annotating[*karpenterv1.NodeClaim](
		rotation.KeyState, rotation.StatePending, rotation.KeyStartedAt, rotation.FormatStamp(now.Add(-3*time.Minute))))
	with(objects, "api-0", annotating[*corev1.Node](
		rotation.KeySurgeFor, "api-0", rotation.KeyDoNotDisrupt, "true", rotation.KeyDoNotDisruptOwned, "true"))
	return append(objects, &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "rotations", Name: rotation.PlaceholderName("api-0"), Labels: rotation.PlaceholderLabels(),
			Annotations: map[string]string{rotation.KeySurgeFor: "api-0"},
		},
		Spec:   corev1.PodSpec{NodeName: "api-2"},
		Status: corev1.PodStatus{Phase: corev1.PodPending},
	})
}

// text is a page as a person gets it.
func text(answer inspect.Answer, err error) string {
	GinkgoHelper()
	Expect(err).NotTo(HaveOccurred())
	var b strings.Builder
	Expect(inspect.Write(&b, answer, inspect.Table)).To(Succeed())
	for _, line := range strings.Split(b.String(), "\n") {
		Expect(len([]rune(line))).To(BeNumerically("<=", inspect.Width), line)
	}
	return b.String()
}

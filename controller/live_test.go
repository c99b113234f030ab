// SPDX-License-Identifier: Apache-2.0

package controller_test

import (
	"context"
	"fmt"
	"strconv"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	karpenterv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"noderotation.io/noderotation/controller"
	"noderotation.io/noderotation/rotation"
)

// pagedServer has so many Nodes, and hands them out page by page, as the API server does.
type pagedServer struct {
	client.Reader
	nodes int
	// expires has the second page's list grow too old, once.
	expires bool
	asked   []client.ListOptions
}

func (s *pagedServer) List(_ context.Context, into client.ObjectList, options ...client.ListOption) error {
	var o client.ListOptions
	o.ApplyOptions(options)
	s.asked = append(s.asked, o)
	list, is := into.(*corev1.NodeList)
	if !is {
		return apierrors.NewForbidden(schema.GroupResource{Group: "karpenter.sh", Resource: "nodeclaims"}, "", fmt.Errorf("you are a reader of Nodes"))
	}
	from := 0
	if o.Continue != "" {
		if s.expires {
			s.expires = false
			return apierrors.NewResourceExpired("the list is too old")
		}
		from, _ = strconv.Atoi(o.Continue)
	}
	to := s.nodes
	if o.Limit > 0 && from+int(o.Limit) < to {
		to = from + int(o.Limit)
		list.Continue = strconv.Itoa(to)
	}
	for n := from; n < to; n++ {
		list.Items = append(list.Items, corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: strconv.Itoa(n)}})
	}
	return nil
}

var _ = Describe("A look at the cluster without a cache", func() {
	nodes := func(ctx context.Context, live *controller.LiveReader) int {
		GinkgoHelper()
		var list corev1.NodeList
		Expect(live.List(ctx, &list)).To(Succeed())
		return len(list.Items)
	}

	It("lists a kind in pages, and once", func(ctx SpecContext) {
		server := &pagedServer{nodes: 1234}
		live := controller.NewLiveReader(server, "api")
		Expect(nodes(ctx, live)).To(Equal(1234))
		Expect(nodes(ctx, live)).To(Equal(1234))
		Expect(server.asked).To(HaveLen(3))
		Expect(server.asked).To(HaveEach(HaveField("Limit", int64(500))))
		Expect(server.asked[0].LabelSelector.String()).To(Equal(rotation.LabelNodePool + "=api"))
	})

	It("begins anew where a list has grown too old for its next page", func(ctx SpecContext) {
		server := &pagedServer{nodes: 1234, expires: true}
		Expect(nodes(ctx, controller.NewLiveReader(server, ""))).To(Equal(1234))
		Expect(server.asked[len(server.asked)-1]).To(HaveField("Limit", int64(0)))
	})

	It("has nothing of what may not be read, and tells so once", func(ctx SpecContext) {
		live := controller.NewLiveReader(&pagedServer{}, "")
		var claims karpenterv1.NodeClaimList
		Expect(live.List(ctx, &claims)).To(Succeed())
		Expect(live.List(ctx, &claims)).To(Succeed())
		Expect(claims.Items).To(BeEmpty())
		Expect(live.Denied()).To(Equal([]controller.Denial{{Verb: "list", Resource: "nodeclaims.karpenter.sh"}}))
	})
})

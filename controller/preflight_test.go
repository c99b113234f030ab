// SPDX-License-Identifier: Apache-2.0

package controller_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/version"
	"k8s.io/client-go/rest"

	"noderotation.io/noderotation/controller"
)

// aCluster answers discovery and lists as an API server does. What it serves is by path; anything else is not found.
type aCluster map[string]any

func (c aCluster) ServeHTTP(answer http.ResponseWriter, request *http.Request) {
	answer.Header().Set("Content-Type", "application/json")
	body, served := c[request.URL.Path]
	switch {
	case request.URL.Path == "/version":
		body = version.Info{Major: "1", Minor: "37"}
	case request.URL.Path == "/api":
		body = metav1.APIVersions{TypeMeta: metav1.TypeMeta{Kind: "APIVersions", APIVersion: "v1"}}
	case request.URL.Path == "/apis":
		body = c.groups()
	case !served:
		body = refusal(http.StatusNotFound, metav1.StatusReasonNotFound, "the server could not find the requested resource")
	}
	if status, refused := body.(metav1.Status); refused {
		answer.WriteHeader(int(status.Code))
	}
	if err := json.NewEncoder(answer).Encode(body); err != nil {
		panic(err)
	}
}

// groups that have a version with resources.
func (c aCluster) groups() metav1.APIGroupList {
	list := metav1.APIGroupList{TypeMeta: metav1.TypeMeta{Kind: "APIGroupList", APIVersion: "v1"}}
	for _, body := range c {
		if served, is := body.(metav1.APIResourceList); is {
			group, version, _ := strings.Cut(served.GroupVersion, "/")
			found := metav1.GroupVersionForDiscovery{GroupVersion: served.GroupVersion, Version: version}
			list.Groups = append(list.Groups, metav1.APIGroup{Name: group, Versions: []metav1.GroupVersionForDiscovery{found}, PreferredVersion: found})
		}
	}
	return list
}

func refusal(code int32, reason metav1.StatusReason, message string) metav1.Status {
	return metav1.Status{TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: metav1.StatusFailure, Code: code, Reason: reason, Message: message}
}

func resources(groupVersion string, kinds map[string]string) metav1.APIResourceList {
	list := metav1.APIResourceList{TypeMeta: metav1.TypeMeta{Kind: "APIResourceList", APIVersion: "v1"}, GroupVersion: groupVersion}
	for name, kind := range kinds {
		list.APIResources = append(list.APIResources, metav1.APIResource{
			Name: name, Kind: kind, Namespaced: kind == "Pod" || kind == "PodDisruptionBudget", Verbs: metav1.Verbs{"get", "list", "watch"},
		})
	}
	return list
}

func emptyList(groupVersion, kind string) any {
	return map[string]any{"apiVersion": groupVersion, "kind": kind, "metadata": map[string]any{}, "items": []any{}}
}

const (
	karpenter, ours       = "karpenter.sh/v1", "noderotation.io/v1alpha1"
	karpenterAPI, oursAPI = "/apis/" + karpenter, "/apis/" + ours
	budgetsAPI            = "/apis/policy/v1"
	// rehearsed is where the lease is created that shows whether there is the namespace.
	rehearsed = "/apis/coordination.k8s.io/v1/namespaces/" + namespace + "/leases"
)

// aWholeCluster serves all that the controller needs.
func aWholeCluster() aCluster {
	return aCluster{
		karpenterAPI:                  resources(karpenter, map[string]string{"nodeclaims": "NodeClaim", "nodepools": "NodePool"}),
		karpenterAPI + "/nodeclaims":  emptyList(karpenter, "NodeClaimList"),
		karpenterAPI + "/nodepools":   emptyList(karpenter, "NodePoolList"),
		oursAPI:                       resources(ours, map[string]string{"rotationpolicies": "RotationPolicy"}),
		oursAPI + "/rotationpolicies": emptyList(ours, "RotationPolicyList"),

		"/api/v1":                            resources("v1", map[string]string{"nodes": "Node", "pods": "Pod"}),
		"/api/v1/nodes":                      emptyList("v1", "NodeList"),
		"/api/v1/pods":                       emptyList("v1", "PodList"),
		budgetsAPI:                           resources("policy/v1", map[string]string{"poddisruptionbudgets": "PodDisruptionBudget"}),
		budgetsAPI + "/poddisruptionbudgets": emptyList("policy/v1", "PodDisruptionBudgetList"),
		rehearsed:                            map[string]any{"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": map[string]any{"name": "preflight"}},
	}
}

var _ = Describe("The preflight (§5.1)", func() {
	// check runs the preflight against the cluster and returns its sentences.
	check := func(cluster aCluster) []string {
		server := httptest.NewServer(cluster)
		defer server.Close()
		err := controller.Preflight(context.Background(), &rest.Config{Host: server.URL}, namespace, true)
		if err == nil {
			return nil
		}
		return strings.Split(err.Error(), "\n")
	}

	It("is content with a cluster that has all", func() {
		Expect(check(aWholeCluster())).To(BeEmpty())
	})

	DescribeTable("says in a sentence what is missing, and what to do", func(take func(aCluster), sentences ...string) {
		cluster := aWholeCluster()
		take(cluster)
		said := check(cluster)
		Expect(said).To(HaveLen(len(sentences)))
		for i, sentence := range sentences {
			Expect(said[i]).To(HavePrefix("preflight: "))
			Expect(said[i]).To(ContainSubstring(sentence))
		}
	},
		Entry("Karpenter", func(c aCluster) { delete(c, karpenterAPI) },
			"the cluster does not serve karpenter.sh/v1: install Karpenter v1 or later, or use a cluster that has it"),
		Entry("a resource of Karpenter's", func(c aCluster) {
			c[karpenterAPI] = resources(karpenter, map[string]string{"nodepools": "NodePool"})
			delete(c, karpenterAPI+"/nodeclaims")
		}, "the cluster serves karpenter.sh/v1 without nodeclaims: install Karpenter"),
		Entry("our CRD", func(c aCluster) { delete(c, oursAPI) },
			"the cluster does not serve noderotation.io/v1alpha1: install the CRD of RotationPolicy"),
		Entry("the right to list", func(c aCluster) {
			c[karpenterAPI+"/nodepools"] = refusal(http.StatusForbidden, metav1.StatusReasonForbidden, "nodepools.karpenter.sh is forbidden: User cannot list")
		}, "RBAC does not let this service account list nodepools.karpenter.sh; grant list and watch: nodepools.karpenter.sh is forbidden"),
		Entry("an API server that works", func(c aCluster) {
			c[karpenterAPI+"/nodeclaims"] = refusal(http.StatusInternalServerError, metav1.StatusReasonInternalError, "etcd is away")
		}, "nodeclaims.karpenter.sh cannot be listed: etcd is away"),
		Entry("a right to see what drains", func(c aCluster) {
			for _, path := range []string{"/api/v1/nodes", "/api/v1/pods", budgetsAPI + "/poddisruptionbudgets"} {
				c[path] = refusal(http.StatusForbidden, metav1.StatusReasonForbidden, "no")
			}
		}, "list nodes; grant", "list pods; grant", "list poddisruptionbudgets.policy; grant"),
		Entry("the namespace", func(c aCluster) {
			c[rehearsed] = refusal(http.StatusNotFound, metav1.StatusReasonNotFound, `namespaces "noderotation-system" not found`)
		}, "there is no namespace noderotation-system for the lease and the placeholders: create it, or name another one with --namespace"),
		Entry("the right to leases, as in a namespace that is missing", func(c aCluster) {
			c[rehearsed] = refusal(http.StatusForbidden, metav1.StatusReasonForbidden, "you cannot create leases")
		}, "create leases in namespace noderotation-system, by which the leader is elected; create the namespace if it is missing"),
		Entry("all of it, at once", func(c aCluster) {
			delete(c, karpenterAPI)
			delete(c, oursAPI)
		}, "does not serve karpenter.sh/v1", "does not serve noderotation.io/v1alpha1"),
		Entry("the CRD and a right, at once", func(c aCluster) {
			delete(c, oursAPI)
			c[karpenterAPI+"/nodepools"] = refusal(http.StatusForbidden, metav1.StatusReasonForbidden, "no")
			c[karpenterAPI+"/nodeclaims"] = refusal(http.StatusForbidden, metav1.StatusReasonForbidden, "no")
		}, "does not serve noderotation.io/v1alpha1", "list nodeclaims.karpenter.sh", "list nodepools.karpenter.sh"))

	It("asks for no right to leases where no leader is elected, and leaves it to the election to tell what else is against it", func() {
		cluster := aWholeCluster()
		cluster[rehearsed] = refusal(http.StatusForbidden, metav1.StatusReasonForbidden, "you cannot create leases")
		server := httptest.NewServer(cluster)
		defer server.Close()
		Expect(controller.Preflight(context.Background(), &rest.Config{Host: server.URL}, namespace, false)).To(Succeed())
		cluster[rehearsed] = refusal(http.StatusInternalServerError, metav1.StatusReasonInternalError, "etcd is away")
		Expect(check(cluster)).To(BeEmpty())
	})

	It("refuses objects that do not decode as karpenter.sh/v1", func() {
		cluster := aWholeCluster()
		cluster[karpenterAPI+"/nodepools"] = map[string]any{"apiVersion": karpenter, "kind": "NodePoolList", "items": []any{
			map[string]any{"metadata": map[string]any{"name": "api"}, "spec": map[string]any{"template": "not an object"}}}}
		Expect(check(cluster)).To(ContainElement(ContainSubstring("nodepools.karpenter.sh cannot be listed")))
	})

	It("says which API server does not answer", func() {
		server := httptest.NewServer(aCluster{})
		server.Close()
		err := controller.Preflight(context.Background(), &rest.Config{Host: server.URL}, namespace, true)
		Expect(err).To(MatchError(And(ContainSubstring("preflight: "), ContainSubstring(strings.TrimPrefix(server.URL, "http://")))))
	})
})

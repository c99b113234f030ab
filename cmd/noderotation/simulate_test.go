// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"noderotation.io/noderotation/sim/simulate"
)

var examples = filepath.Join("..", "..", "examples")

// A run ends well, or with an error that makes the exit status 1: a node expired, or a finding is fatal.
func TestSimulateTellsAGoodFleetFromABadOne(t *testing.T) {
	g := NewWithT(t)
	out, err := run(t, "simulate", filepath.Join(examples, "healthy"), "--for", "12d")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(out).To(SatisfyAll(
		HavePrefix("A healthy fleet\n12d, from Fri 2026-01-09 00:00 UTC, seed 1: 1 NodePool, 12 nodes\n"),
		ContainSubstring("\nSat 2026-01-10 02:00–06:00 Asia/Tokyo\n  02:00:00  api            api-11 → api-"),
		ContainSubstring("nodes rotated inside windows; none expired; smallest margin 2d"),
		Not(ContainSubstring("\x1b"))))

	out, err = run(t, "simulate", filepath.Join(examples, "batch"))
	g.Expect(err).To(MatchError("2 nodes expired"))
	g.Expect(out).To(SatisfyAll(ContainSubstring("EXPIRED at the age of 20d"), ContainSubstring("fatal NodeExpired: NodePool batch: 2 nodes expired")))
}

func TestSimulateFailsOnAFatalFinding(t *testing.T) {
	out, err := run(t, "simulate", written(t, "fleet.yaml", `
kind: RotationPolicy
apiVersion: noderotation.io/v1alpha1
metadata: {name: weekly}
spec:
  nodePoolSelector: {}
  maintenanceWindows: [{timezone: UTC, days: [Sun], start: "02:00", end: "06:00"}]
---
kind: Fleet
pool: api
expireAfter: 10d
nodes: 1
`), "--for", "1d", "--start", "2026-01-09T00:00:00Z")
	NewWithT(t).Expect(err).To(MatchError("a finding is fatal"))
	NewWithT(t).Expect(out).To(ContainSubstring("fatal ANonPositive: NodePool api: "))
}

func TestSimulateWritesJSON(t *testing.T) {
	g := NewWithT(t)
	out, err := run(t, "simulate", filepath.Join(examples, "healthy"), "--for", "3d", "-o", "json")
	g.Expect(err).NotTo(HaveOccurred())
	var result simulate.Result
	g.Expect(json.Unmarshal([]byte(out), &result)).To(Succeed())
	g.Expect(result.Verdict.Rotated).To(BeNumerically(">", 3))
	g.Expect(result.Rotations).To(HaveEach(HaveField("Trace", Not(BeEmpty()))))
}

func TestSimulateIsTheSameFromTheSameSeed(t *testing.T) {
	g := NewWithT(t)
	tell := func(seed string) string {
		out, err := run(t, "simulate", filepath.Join(examples, "shortage"), "--for", "5d", "--seed", seed, "-o", "json")
		g.Expect(err).NotTo(HaveOccurred())
		return out
	}
	g.Expect(tell("7")).To(Equal(tell("7")))
	g.Expect(tell("7")).NotTo(Equal(tell("8")))
}

func TestSimulateTakesTroubleFromTheCommandLine(t *testing.T) {
	for name, c := range map[string]struct {
		flags []string
		says  string
	}{
		"a shortage":        {[]string{"--shortage", "12h+8h"}, "attempts rolled back"},
		"a chance of one":   {[]string{"--shortage-chance", "1"}, "rolled back"},
		"slow provisioning": {[]string{"--slow-provisioning", "20m"}, "rolled back"},
		"slow drains":       {[]string{"--slow-drains", "20m"}, "drain 20m"},
		"an outage":         {[]string{"--outage", "0h+2d"}, "1 of them nothing was begun in the windows"},
		"a blocking budget": {[]string{"--blocking-budgets", "0h+2d"}, "drain 59m"},
		"two at once":       {[]string{"--outage", "1h+2h", "--shortage", "12h+8h"}, "attempts rolled back"},
	} {
		t.Run(name, func(t *testing.T) {
			out, _ := run(t, append([]string{"simulate", filepath.Join(examples, "healthy"), "--for", "3d"}, c.flags...)...)
			NewWithT(t).Expect(out).To(ContainSubstring(c.says))
		})
	}
}

func TestSimulateRefusesBadFlags(t *testing.T) {
	healthy := filepath.Join(examples, "healthy")
	for name, c := range map[string]struct {
		args []string
		says string
	}{
		"nothing":          {nil, "nothing to simulate: name files or directories"},
		"a missing file":   {[]string{"/nowhere/x.yaml"}, "the input cannot be read: "},
		"an empty folder":  {[]string{t.TempDir()}, "has no .yaml, .yml or .json file"},
		"a span":           {[]string{healthy, "--for", "ever"}, `--for: "ever" is no duration`},
		"a start":          {[]string{healthy, "--start", "tomorrow"}, `--start is "tomorrow"; write a time such as 2026-01-09T00:00:00Z`},
		"an output":        {[]string{healthy, "-o", "yaml"}, `--output is "yaml"; set it to json, or leave it out`},
		"no time":          {[]string{healthy, "--for", "0s"}, "--for is 0s; write how long to simulate, such as 60d"},
		"no number":        {[]string{healthy, "--for", "NaNd"}, `--for: "NaNd" is no duration`},
		"an empty stretch": {[]string{healthy, "--outage", "3d+0h"}, `--outage: "3d+0h" lasts no time`},
		"no slowness":      {[]string{healthy, "--slow-drains", "0s"}, "--slow-drains is 0s, which makes nothing slow"},
		"no chance":        {[]string{healthy, "--shortage-chance", "NaN"}, "a shortage has chance NaN"},
		"a stretch":        {[]string{healthy, "--outage", "3d"}, `--outage: "3d" is no stretch of time`},
		"no kubeconfig":    {[]string{"--from-cluster", "--kubeconfig", "/nowhere/kubeconfig"}, "--from-cluster: no cluster to read: name a kubeconfig with --kubeconfig"},
		"a report's place": {[]string{healthy, "--for", "1h", "--report", "/nowhere/x.html"}, "--report: the page cannot be written"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := run(t, append([]string{"simulate"}, c.args...)...)
			NewWithT(t).Expect(err).To(MatchError(ContainSubstring(c.says)))
		})
	}
}

func TestSimulateWritesAReport(t *testing.T) {
	g := NewWithT(t)
	file := filepath.Join(t.TempDir(), "report.html")
	_, err := run(t, "simulate", filepath.Join(examples, "fallback"), "--report", file)
	g.Expect(err).NotTo(HaveOccurred())
	page, err := os.ReadFile(file)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(string(page)).To(SatisfyAll(HavePrefix("<!doctype html>"), ContainSubstring("FallbackUsed"), ContainSubstring("start-fallback")))
}

// What --from-cluster asks of an API server: six lists, and nothing is written.
func TestSimulateReadsACluster(t *testing.T) {
	g := NewWithT(t)
	server := httptest.NewServer(aCluster(t))
	defer server.Close()
	out, err := run(t, "simulate", "--from-cluster", "--kubeconfig", kubeconfigOf(t, server.URL), "--start", "2026-01-09T00:00:00Z", "--for", "3d")
	g.Expect(err).NotTo(HaveOccurred(), out)
	g.Expect(out).To(SatisfyAll(
		ContainSubstring("NodeClaim by-hand of the cluster belongs to no NodePool, and is left out\n"),
		ContainSubstring("1 of 1 nodes rotated inside windows; none expired")))
}

// everySaturday is a policy for every pool.
const everySaturday = `
apiVersion: noderotation.io/v1alpha1
kind: RotationPolicy
metadata: {name: weekly}
spec:
  nodePoolSelector: {}
  maintenanceWindows: [{timezone: UTC, days: [Sat], start: "02:00", end: "06:00"}]
`

// A policy that is applied already is tried out as the file has it.
func TestSimulateTriesAFileOnACluster(t *testing.T) {
	g := NewWithT(t)
	server := httptest.NewServer(aCluster(t))
	defer server.Close()
	changed := written(t, "policy.yaml", everySaturday)
	out, err := run(t, "simulate", changed, "--from-cluster", "--kubeconfig", kubeconfigOf(t, server.URL), "--start", "2026-01-09T00:00:00Z", "--for", "3d")
	g.Expect(out).To(SatisfyAll(
		ContainSubstring("RotationPolicy weekly of "+changed+" stands in for the cluster's\n"),
		ContainSubstring("Sat 2026-01-10 02:00–06:00 UTC")), "%v", err)
}

// A policy is tried before anything is installed, and so before the cluster knows of policies.
func TestSimulateTriesAPolicyOnAClusterThatHasNone(t *testing.T) {
	policy := written(t, "policy.yaml", everySaturday)
	groups := `{"kind":"APIGroupList","groups":[{"name":"karpenter.sh","versions":[{"groupVersion":"karpenter.sh/v1","version":"v1"}]},
		{"name":"policy","versions":[{"groupVersion":"policy/v1","version":"v1"}]}]}`
	for name, answers := range map[string]map[string]string{
		"nor its group":         {"/apis": groups, "/apis/noderotation.io/v1alpha1": ""},
		"nor its version":       {"/apis/noderotation.io/v1alpha1": ""},
		"nor this kind of them": {"/apis/noderotation.io/v1alpha1": `{"kind":"APIResourceList","apiVersion":"v1","groupVersion":"noderotation.io/v1alpha1","resources":[]}`},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			server := httptest.NewServer(instead(aCluster(t), answers))
			defer server.Close()
			out, err := run(t, "simulate", policy, "--from-cluster", "--kubeconfig", kubeconfigOf(t, server.URL), "--start", "2026-01-09T00:00:00Z", "--for", "3d")
			g.Expect(err).NotTo(MatchError(ContainSubstring("--from-cluster")), out)
			g.Expect(out).To(ContainSubstring("Sat 2026-01-10 02:00–06:00 UTC"), "%v", err)
		})
	}
}

// What is wrong with the cluster is said once, in words.
func TestSimulateTellsOnceWhatIsWrongWithTheCluster(t *testing.T) {
	forbidden := func(resource, group string) string {
		return fmt.Sprintf(`{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Forbidden","code":403,"details":{"kind":%q,"group":%q}}`, resource, group)
	}
	silent := httptest.NewServer(nil)
	silent.Close()
	for name, c := range map[string]struct {
		answers map[string]string
		url     string
		says    string
	}{
		"it is silent": {nil, silent.URL, "^--from-cluster: the cluster does not answer: the RotationPolicies cannot be listed: .*; check the kubeconfig and the context$"},
		"rights are missing": {map[string]string{"/api/v1/nodes": forbidden("nodes", ""), "/apis/karpenter.sh/v1/nodepools": forbidden("nodepools", "karpenter.sh")}, "",
			"^--from-cluster: you may not list nodepools.karpenter.sh, nor list nodes: ask for a role that allows it, or use another kubeconfig or context$"},
		"it has no Karpenter": {map[string]string{"/apis/karpenter.sh/v1": ""}, "",
			"^--from-cluster: the cluster does not serve what is asked for: the NodePools cannot be listed: .*; install the CRDs of Karpenter and noderotation$"},
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(instead(aCluster(t), c.answers))
			defer server.Close()
			_, err := run(t, "simulate", "--from-cluster", "--kubeconfig", kubeconfigOf(t, cmp.Or(c.url, server.URL)), "--for", "3d")
			NewWithT(t).Expect(err).To(MatchError(MatchRegexp(c.says)))
		})
	}
}

// instead answers some paths in another way: not at all where the answer is empty, and as an error where it says that it is one.
func instead(cluster http.Handler, answers map[string]string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answer, other := answers[r.URL.Path]
		w.Header().Set("Content-Type", "application/json")
		switch {
		case !other:
			cluster.ServeHTTP(w, r)
			return
		case answer == "":
			w.WriteHeader(http.StatusNotFound)
		case strings.Contains(answer, `"code":403`):
			w.WriteHeader(http.StatusForbidden)
		}
		_, _ = fmt.Fprint(w, answer)
	})
}

func kubeconfigOf(t *testing.T, server string) string {
	return written(t, "kubeconfig", fmt.Sprintf(`
apiVersion: v1
kind: Config
current-context: here
contexts: [{name: here, context: {cluster: here, user: me}}]
clusters: [{name: here, cluster: {server: %q}}]
users: [{name: me}]
`, server))
}

// aCluster answers for a cluster with a policy, a pool and a NodeClaim that is due.
func aCluster(t *testing.T) http.Handler {
	group := func(name, version string) string {
		return fmt.Sprintf(`{"name":%q,"versions":[{"groupVersion":"%s/%s","version":%q}],"preferredVersion":{"groupVersion":"%s/%s","version":%q}}`,
			name, name, version, version, name, version, version)
	}
	resources := func(groupVersion string, kinds ...string) string {
		var all []string
		for _, kind := range kinds {
			plural := strings.ToLower(kind) + "s"
			if strings.HasSuffix(kind, "y") {
				plural = strings.ToLower(strings.TrimSuffix(kind, "y")) + "ies"
			}
			all = append(all, fmt.Sprintf(`{"name":%q,"kind":%q,"namespaced":%t,"verbs":["list"]}`, plural, kind, strings.HasPrefix(kind, "Pod")))
		}
		return fmt.Sprintf(`{"kind":"APIResourceList","apiVersion":"v1","groupVersion":%q,"resources":[%s]}`, groupVersion, strings.Join(all, ","))
	}
	list := func(groupVersion, kind, item string) string {
		return fmt.Sprintf(`{"kind":"%sList","apiVersion":%q,"metadata":{},"items":[%s]}`, kind, groupVersion, item)
	}
	answers := map[string]string{
		"/api":                           `{"kind":"APIVersions","versions":["v1"]}`,
		"/apis":                          `{"kind":"APIGroupList","groups":[` + strings.Join([]string{group("noderotation.io", "v1alpha1"), group("karpenter.sh", "v1"), group("policy", "v1")}, ",") + `]}`,
		"/api/v1":                        resources("v1", "Node", "Pod"),
		"/apis/policy/v1":                resources("policy/v1", "PodDisruptionBudget"),
		"/apis/karpenter.sh/v1":          resources("karpenter.sh/v1", "NodePool", "NodeClaim"),
		"/apis/noderotation.io/v1alpha1": resources("noderotation.io/v1alpha1", "RotationPolicy"),
		"/apis/noderotation.io/v1alpha1/rotationpolicies": list("noderotation.io/v1alpha1", "RotationPolicy",
			`{"metadata":{"name":"weekly"},"spec":{"nodePoolSelector":{},"maintenanceWindows":[{"timezone":"Asia/Tokyo","days":["Wed","Sat"],"start":"02:00","end":"06:00"}]}}`),
		"/apis/karpenter.sh/v1/nodepools": list("karpenter.sh/v1", "NodePool",
			`{"metadata":{"name":"api"},"spec":{"template":{"spec":{"expireAfter":"336h","terminationGracePeriod":"1h"}}}}`),
		"/apis/karpenter.sh/v1/nodeclaims": list("karpenter.sh/v1", "NodeClaim",
			`{"metadata":{"name":"api-1","creationTimestamp":"2025-12-29T00:00:00Z","finalizers":["karpenter.sh/termination"],
			  "labels":{"karpenter.sh/nodepool":"api","topology.kubernetes.io/zone":"a","kubernetes.io/arch":"arm64","karpenter.sh/capacity-type":"spot"}},
			  "spec":{"expireAfter":"336h","terminationGracePeriod":"1h"},
			  "status":{"nodeName":"node-1","allocatable":{"cpu":"4","memory":"16Gi","pods":"110"},"conditions":[{"type":"Ready","status":"True"},{"type":"Launched","status":"True"},{"type":"Initialized","status":"True"}]}},
			{"metadata":{"name":"by-hand","creationTimestamp":"2025-12-29T00:00:00Z"}}`),
		"/api/v1/nodes": list("v1", "Node", ""),
		"/api/v1/pods": list("v1", "Pod", `{"metadata":{"name":"app-1","namespace":"shop","ownerReferences":[{"apiVersion":"apps/v1","kind":"ReplicaSet","name":"app","uid":"1","controller":true}]},
			"spec":{"nodeName":"node-1","containers":[{"name":"app","resources":{"requests":{"cpu":"3"}}}]},"status":{"phase":"Running","conditions":[{"type":"Ready","status":"True"}]}}`),
		"/apis/policy/v1/poddisruptionbudgets": list("policy/v1", "PodDisruptionBudget", ""),
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answer, known := answers[r.URL.Path]
		if r.Method != http.MethodGet || !known {
			t.Errorf("the API server was asked to %s %s", r.Method, r.URL.Path)
			w.WriteHeader(http.StatusNotFound)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprint(w, answer)
	})
}

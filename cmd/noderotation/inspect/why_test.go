// SPDX-License-Identifier: Apache-2.0

package inspect_test

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"noderotation.io/noderotation"
	"noderotation.io/noderotation/cmd/noderotation/inspect"
	"noderotation.io/noderotation/controller"
	. "noderotation.io/noderotation/internal/fleet"
	"noderotation.io/noderotation/rotation"
)

var update = flag.Bool("update", false, "write the pages that come of the situations into testdata")

func theTable(t testing.TB) *controller.Machine {
	t.Helper()
	machine, err := controller.LoadTable(noderotation.TransitionsFile, noderotation.Transitions)
	if err != nil {
		t.Fatal(err)
	}
	return machine
}

// situations are pools that a person asks about, by the name of the page that is the answer.
func situations() map[string]rotation.Snapshot {
	due := func(facts ...ClaimFact) Fact { return AClaim("old", append([]ClaimFact{Aged(10 * Day)}, facts...)...) }
	young := AClaim("young")
	invalid := WithPolicy(AskingForChances(0))
	return map[string]rotation.Snapshot{
		"window-closed":          In("a node is due and the window is closed"),
		"frozen":                 APool(due(), young, Frozen(3*time.Hour), PoolAnnotated(rotation.KeyFreezeReason, "release of the shop")),
		"freeze-unreadable":      APool(due(), young, PoolAnnotated(rotation.KeyFreeze, "next week")),
		"no-candidate":           APool(AClaim("protected", Aged(10*Day)), ANode("protected-node", ProtectedByOperator), young),
		"no-claims":              APool(),
		"no-headroom":            In("a node is due and the limits leave no room"),
		"starts":                 In("a node is due"),
		"pending-wait":           In("the placeholder waits for a node"),
		"pending-held":           In("the surge is ready and the pool is frozen"),
		"drains":                 In("the surge is ready"),
		"draining":               In("the node drains"),
		"draining-stuck":         In("the drain is overdue"),
		"fallback":               In("a node is due and its surge comes too late"),
		"ungoverned":             In("a node is due and no policy governs"),
		"tie":                    tied(due()),
		"policy-invalid":         APool(invalid, due()),
		"finding-fatal":          APool(WithPolicy(AskingForChances(4)), due()),
		"state-unreadable":       APool(Anchored("old"), due(InState("sleeping"))),
		"placeholder-impossible": impossible(due()),
		"retry":                  In("a failure is still anchored and its backoff is over"),
		"never-closes":           APool(WithPolicy(AlwaysOpen), young),
	}
}

// Every situation has the page that stands in testdata. `go test ./cmd/noderotation/inspect -update` writes them anew.
func TestWhy(t *testing.T) {
	machine := theTable(t)
	for name, s := range situations() {
		t.Run(name, func(t *testing.T) {
			why := inspect.Explained(machine, s, "")
			why.Table = "built-in table"
			page(t, filepath.Join("testdata", "why", name+".txt"), why.Text(false))
		})
	}
}

// page compares a page with the one on file.
func page(t *testing.T, file, is string) {
	t.Helper()
	for _, line := range strings.Split(is, "\n") {
		if length := len([]rune(line)); length > inspect.Width {
			t.Errorf("a line of %d characters is wider than the page: %s", length, line)
		}
		if strings.HasSuffix(line, " ") {
			t.Errorf("a line ends in a space: %q", line)
		}
	}
	if *update {
		if err := os.WriteFile(file, []byte(is), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	shouldBe, err := os.ReadFile(file)
	if err != nil {
		t.Fatalf("%v (-update writes it)", err)
	}
	if is != string(shouldBe) {
		t.Errorf("the page is not the one in %s (-update writes it anew):\n%s", file, is)
	}
}

// tied has two policies select the pool with equally many constraints.
func tied(facts ...Fact) rotation.Snapshot {
	s := APool(facts...)
	first, second := s.Governance.Policy.DeepCopy(), s.Governance.Policy.DeepCopy()
	second.Name = "another-policy"
	s.Governance = rotation.Govern([]rotation.Assessment{rotation.Assess(first, Opening), rotation.Assess(second, Opening)}, s.Pool.Labels)
	return s.Observe()
}

// impossible is a pool for whose placeholder no host can exist: the old node's zone is not among those that the pool allows.
func impossible(facts ...Fact) rotation.Snapshot {
	return APool(append(facts, PoolThat(func(p *rotation.Pool) {
		p.Requirements = []rotation.Requirement{{Key: corev1.LabelTopologyZone, Operator: "Like", Values: []string{"a"}}}
	}))...)
}

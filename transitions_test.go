// SPDX-License-Identifier: Apache-2.0

package noderotation_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"pgregory.net/rapid"

	"noderotation.io/noderotation"
	"noderotation.io/noderotation/effects"
	"noderotation.io/noderotation/guards"
	. "noderotation.io/noderotation/internal/fleet"
	"noderotation.io/noderotation/laws"
	"noderotation.io/noderotation/machine"
	"noderotation.io/noderotation/rotation"
)

func TestNoderotation(t *testing.T) {
	RegisterFailHandler(Fail)
	RunSpecs(t, "noderotation: the embedded table")
}

// engine is the embedded table, under all its laws, with the product's guards and effects.
func engine() (*machine.Machine[*rotation.Snapshot, effects.Action], error) {
	table, err := machine.Parse(noderotation.TransitionsFile, noderotation.Transitions)
	if err != nil {
		return nil, err
	}
	registry, err := effects.Registry(guards.All())
	if err != nil {
		return nil, err
	}
	return machine.Compile(table, registry, slices.Concat(machine.GenericLaws(machine.Options{Bound: time.Minute}), laws.All()))
}

// pass is one pass over a snapshot: the row that fires, what is asked for, in order and merged, and how things are then.
type pass struct {
	Row     string
	Actions []effects.Action
	Left    rotation.Snapshot
}

func passOver(m *machine.Machine[*rotation.Snapshot, effects.Action], s rotation.Snapshot) (pass, error) {
	state, err := rotation.State(s)
	if err != nil {
		return pass{}, err
	}
	decision, err := m.Decide(state, &s)
	if err != nil {
		return pass{}, err
	}
	plan, err := m.Plan(decision, &s)
	if err != nil {
		return pass{}, err
	}
	left := *plan.Snapshot
	left.Cleared = nil // what the next pass reads has no memory
	return pass{decision.Row.ID, effects.Merge(plan.Actions()), left.Observe()}, nil
}

// written are the requests of the pass, as a dry run prints them, without the prefix that every key of ours has.
func (p pass) written() []string {
	lines := []string{}
	for _, action := range p.Actions {
		if _, tells := action.(effects.Announce); !tells {
			lines = append(lines, strings.ReplaceAll(action.String(), "noderotation.io/", ""))
		}
	}
	return lines
}

// told are the pass's Events and log lines by their reason, outcomes and durations, in order.
func (p pass) told() []string {
	lines := []string{}
	for _, action := range p.Actions {
		told, tells := action.(effects.Announce)
		switch {
		case !tells:
		case told.Phase != "":
			lines = append(lines, told.String())
		case told.Reason == "":
			lines = append(lines, "log")
		case told.Outcome != "":
			lines = append(lines, told.Reason+" "+string(told.Outcome))
		default:
			lines = append(lines, told.Reason)
		}
	}
	return lines
}

// course follows one pool through its passes, while the scenario says what the cluster does in between.
type course struct {
	machine *machine.Machine[*rotation.Snapshot, effects.Action]
	s       rotation.Snapshot
	writes  int
}

// fires makes a pass, in which this row fires and asks for exactly these writes.
func (c *course) fires(row string, writes ...string) {
	GinkgoHelper()
	p, err := passOver(c.machine, c.s)
	Expect(err).NotTo(HaveOccurred())
	Expect(p.Row).To(Equal(row))
	Expect(p.written()).To(Equal(append([]string{}, writes...)))
	c.s = p.Left
	c.writes += len(writes)
}

// later lets time pass, in which these things happen in the cluster.
func (c *course) later(d time.Duration, happening ...Fact) {
	c.s = Clone(c.s)
	c.s.Now = c.s.Now.Add(d)
	for _, fact := range happening {
		fact(&c.s)
	}
	c.s = c.s.Observe()
}

// placeholderIs is what scheduler and kubelet make of the placeholder.
func placeholderIs(on string, phase corev1.PodPhase) Fact {
	return func(s *rotation.Snapshot) {
		Expect(s.Placeholders).To(HaveLen(1))
		s.Placeholders[0].UID = "uid-of-the-placeholder"
		s.Placeholders[0].Spec.NodeName, s.Placeholders[0].Status.Phase = on, phase
	}
}

// oldIsGone is the end of the drain: Karpenter has removed Node and claim.
func oldIsGone(s *rotation.Snapshot) {
	WithoutNode("old-node")(s)
	s.Claims = slices.DeleteFunc(s.Claims, func(c *rotation.Claim) bool { return c.Name == "old" })
}

var _ = Describe("An undisturbed rotation (architecture, The writes of one undisturbed rotation)", func() {
	var c *course

	BeforeEach(func() {
		m, err := engine()
		Expect(err).NotTo(HaveOccurred())
		c = &course{machine: m}
	})

	It("takes twelve writes, in this order", func() {
		c.s = APool(AClaim("old", Aged(10*Day)), AClaim("young"), WithWorkloadOn("old-node", "web", "cpu=1"))
		c.fires("start",
			"patch NodePool api: active-rotation=old anchored-on=1",
			"patch NodeClaim old: started-at=2026-01-09T18:00:00Z state=pending",
			"patch Node old-node: karpenter.sh/do-not-disrupt=true cordoned=true do-not-disrupt-owned=true surge-for=old unschedulable=true",
			"create Pod noderotation/surge-for-old")

		c.later(30 * time.Second)
		c.fires("pending-wait")

		By("Karpenter launches a node, and the scheduler binds the placeholder to it")
		c.later(30*time.Second, AClaim("new", Aged(30*time.Second)), placeholderIs("new-node", corev1.PodPending))
		c.fires("pending-wait", "patch NodeClaim old: surge-claim=new")

		By("the placeholder runs")
		c.later(10*time.Second, placeholderIs("new-node", corev1.PodRunning))
		c.fires("drain",
			"patch Node new-node: karpenter.sh/do-not-disrupt=true do-not-disrupt-owned=true surge-for=old",
			"patch NodePool api: active-rotation-state=draining draining-at=2026-01-09T18:01:10Z surge-wait=1m10s",
			"patch NodeClaim old: state=draining",
			"delete NodeClaim old",
			"delete Pod noderotation/surge-for-old")

		By("the old node drains")
		c.later(30 * time.Second)
		c.fires("draining-wait")
		c.later(30*time.Second, ANode("old-node", GoingAway))
		c.fires("draining-wait")

		By("and is gone")
		c.later(30*time.Second, oldIsGone)
		c.fires("drained",
			"patch Node new-node: -surge-for -do-not-disrupt-owned -karpenter.sh/do-not-disrupt",
			"patch NodePool api: last-rotation-at=2026-01-09T18:02:40Z -active-rotation -active-rotation-state -anchored-on -draining-at -surge-wait")
		Expect(c.writes).To(Equal(12))

		By("nothing of ours is left")
		Expect(c.s.Pool.Annotations).To(Equal(map[string]string{rotation.KeyLastRotationAt: "2026-01-09T18:02:40Z"}))
		Expect(c.s.Placeholders).To(BeEmpty())
		for _, node := range c.s.Nodes {
			Expect(node.Annotations).To(BeEmpty())
			Expect(node.Spec.Unschedulable).To(BeFalse())
		}
		c.later(30 * time.Second)
		c.fires("rest")
	})

	It("that spare capacity absorbs takes no more", func() {
		c.s = APool(AClaim("old", Aged(10*Day)), AClaim("spare"))
		c.fires("start",
			"patch NodePool api: active-rotation=old anchored-on=1",
			"patch NodeClaim old: started-at=2026-01-09T18:00:00Z state=pending",
			"patch Node old-node: karpenter.sh/do-not-disrupt=true cordoned=true do-not-disrupt-owned=true surge-for=old unschedulable=true",
			"create Pod noderotation/surge-for-old")
		c.later(5*time.Second, placeholderIs("spare-node", corev1.PodRunning))
		c.fires("drain",
			"patch NodeClaim old: surge-claim=spare",
			"patch Node spare-node: karpenter.sh/do-not-disrupt=true do-not-disrupt-owned=true surge-for=old",
			"patch NodePool api: active-rotation-state=draining draining-at=2026-01-09T18:00:05Z surge-wait=5s",
			"patch NodeClaim old: state=draining",
			"delete NodeClaim old",
			"delete Pod noderotation/surge-for-old")
		c.later(time.Minute, oldIsGone)
		c.fires("drained",
			"patch Node spare-node: -surge-for -do-not-disrupt-owned -karpenter.sh/do-not-disrupt",
			"patch NodePool api: last-rotation-at=2026-01-09T18:01:05Z -active-rotation -active-rotation-state -anchored-on -draining-at -surge-wait")
		Expect(c.writes).To(Equal(12))
	})

	It("without a surge takes four: one anchor with all its companions", func() {
		c.s = APool(WithPolicy(AllowingFallback), AClaim("old", Aged(14*Day-time.Minute)))
		c.fires("start-fallback",
			"patch NodePool api: active-rotation=old active-rotation-state=draining anchored-on=1 draining-at=2026-01-09T18:00:00Z rotation-mode=forceful-fallback",
			"patch NodeClaim old: state=draining",
			"delete NodeClaim old")
		c.later(time.Minute, oldIsGone)
		c.fires("drained", "patch NodePool api: last-rotation-at=2026-01-09T18:01:00Z -active-rotation -active-rotation-state -anchored-on -draining-at -rotation-mode")
	})
})

// firing is a situation, the row that fires in it, what is then written, and what is told.
type firing struct {
	row, situation string
	writes, tells  []string
}

// firings has every row of the table at least once.
var firings = []firing{
	{"start-fallback", "a node is due and its surge comes too late", []string{
		"patch NodePool api: active-rotation=old active-rotation-state=draining anchored-on=1 draining-at=2026-01-09T18:00:00Z rotation-mode=forceful-fallback",
		"patch NodeClaim old: state=draining",
		"delete NodeClaim old",
	}, []string{"ForcefulFallback"}},
	{"start", "a node is due", []string{
		"patch NodePool api: active-rotation=old anchored-on=1",
		"patch NodeClaim old: started-at=2026-01-09T18:00:00Z state=pending",
		"patch Node old-node: karpenter.sh/do-not-disrupt=true cordoned=true do-not-disrupt-owned=true surge-for=old unschedulable=true",
		"create Pod noderotation/surge-for-old",
	}, []string{"RotationStarted"}},
	{"start", "a node is due after a failure, an operator has cordoned it", []string{
		"patch NodePool api: active-rotation=old anchored-on=1",
		"patch NodeClaim old: started-at=2026-01-09T18:00:00Z state=pending",
		"patch Node old-node: karpenter.sh/do-not-disrupt=true do-not-disrupt-owned=true surge-for=old",
		"create Pod noderotation/surge-for-old",
	}, []string{"RotationStarted"}},
	{"start-without-headroom", "a node is due and the limits leave no room", nil, []string{"InsufficientHeadroom"}},
	{"rest", "the pool is empty", nil, nil},
	{"rest", "every node is young", nil, nil},
	{"rest", "a node is due and the window is closed", nil, nil},
	{"rest", "a node is due and the pool is frozen", nil, nil},
	{"rest", "a node is due and no policy governs", nil, nil},
	{"rest", "a node is due and an earlier drain goes on", nil, nil},
	{"rest", "a node is due and its operator protects it", nil, nil},
	{"rest", "a node is due and Karpenter is replacing it", nil, nil},

	{"pending-wait", "the anchor is written and nothing else", []string{
		"patch NodeClaim old: started-at=2026-01-09T18:00:00Z state=pending",
		"patch Node old-node: karpenter.sh/do-not-disrupt=true cordoned=true do-not-disrupt-owned=true surge-for=old unschedulable=true",
		"create Pod noderotation/surge-for-old",
	}, nil},
	{"pending-wait", "the claim is marked and nothing else", []string{
		"patch Node old-node: karpenter.sh/do-not-disrupt=true cordoned=true do-not-disrupt-owned=true surge-for=old unschedulable=true",
		"create Pod noderotation/surge-for-old",
	}, nil},
	{"pending-wait", "the placeholder waits for a node", nil, nil},
	{"pending-wait", "the placeholder is bound", []string{"patch NodeClaim old: surge-claim=new"}, nil},
	{"pending-wait", "the placeholder is missing", []string{"create Pod noderotation/surge-for-old"}, nil},
	{"pending-wait", "the placeholder has ended", []string{
		"patch NodeClaim old: surge-claim=new",
		"delete Pod noderotation/surge-for-old",
	}, nil},
	{"pending-wait", "the placeholder is preempted", []string{"patch NodeClaim old: surge-claim=new"}, nil},
	{"pending-held", "the surge is ready and the pool is frozen", []string{"patch NodeClaim old: surge-claim=new"}, nil},
	{"drain", "the surge is ready", []string{
		"patch NodeClaim old: surge-claim=new",
		"patch Node new-node: karpenter.sh/do-not-disrupt=true do-not-disrupt-owned=true surge-for=old",
		"patch NodePool api: active-rotation-state=draining draining-at=2026-01-09T18:00:00Z surge-wait=5m0s",
		"patch NodeClaim old: state=draining",
		"delete NodeClaim old",
		"delete Pod noderotation/surge-for-old",
	}, []string{"observe surge_wait 5m0s"}},
	{"drain", "the pending node is also an operator's", []string{
		"patch NodeClaim old: surge-claim=new",
		"patch Node new-node: karpenter.sh/do-not-disrupt=true do-not-disrupt-owned=true surge-for=old",
		"patch NodePool api: active-rotation-state=draining draining-at=2026-01-09T18:00:00Z surge-wait=5m0s",
		"patch NodeClaim old: state=draining",
		"delete NodeClaim old",
		"delete Pod noderotation/surge-for-old",
	}, []string{"observe surge_wait 5m0s"}},
	{"pending-timed-out", "the attempt has timed out", []string{
		"delete Pod noderotation/surge-for-old",
		"patch Node old-node: -surge-for -do-not-disrupt-owned -cordoned -karpenter.sh/do-not-disrupt unschedulable=false",
		"patch NodeClaim old: failed-at=2026-01-09T18:00:00Z retry-count=1 state=failed -started-at",
		"patch NodePool api: last-failure-at=2026-01-09T18:00:00Z -active-rotation -anchored-on",
	}, []string{"SurgeUnschedulable", "log", "RotationFailed failure"}},
	{"pending-timed-out", "the attempt has timed out with a node that came late", []string{
		"delete NodeClaim new",
		"delete Pod noderotation/surge-for-old",
		"patch Node old-node: -surge-for -do-not-disrupt-owned -cordoned -karpenter.sh/do-not-disrupt unschedulable=false",
		"patch NodeClaim old: failed-at=2026-01-09T18:00:00Z retry-count=1 state=failed -started-at -surge-claim",
		"patch NodePool api: last-failure-at=2026-01-09T18:00:00Z -active-rotation -anchored-on",
	}, []string{"RotationFailed failure"}},
	{"pending-timed-out", "the attempt's start cannot be read", []string{
		"delete Pod noderotation/surge-for-old",
		"patch Node old-node: -surge-for -do-not-disrupt-owned -cordoned -karpenter.sh/do-not-disrupt unschedulable=false",
		"patch NodeClaim old: failed-at=2026-01-09T18:00:00Z retry-count=1 state=failed -started-at",
		"patch NodePool api: last-failure-at=2026-01-09T18:00:00Z -active-rotation -anchored-on",
	}, []string{"SurgeUnschedulable", "log", "RotationFailed failure"}},
	{"pending-claim-gone", "the pending claim is gone", []string{
		"delete Pod noderotation/surge-for-old",
		"patch Node new-node: -surge-for -do-not-disrupt-owned -karpenter.sh/do-not-disrupt",
		"patch NodePool api: -active-rotation -anchored-on",
	}, []string{"RotationExpired expired"}},
	{"pending-force-expired", "the pending claim is being deleted", []string{
		"delete Pod noderotation/surge-for-old",
		"patch Node old-node: -surge-for -do-not-disrupt-owned -cordoned -karpenter.sh/do-not-disrupt unschedulable=false",
		"patch NodeClaim old: state=expired -started-at",
		"patch NodePool api: -active-rotation -anchored-on",
	}, []string{"RotationExpired expired"}},
	{"pending-governance-lost", "no policy governs the pending rotation", []string{
		"delete Pod noderotation/surge-for-old",
		"patch Node old-node: -surge-for -do-not-disrupt-owned -cordoned -karpenter.sh/do-not-disrupt unschedulable=false",
		"patch NodeClaim old: released-at=2026-01-09T18:00:00Z -state -started-at",
		"patch NodePool api: -active-rotation -anchored-on",
	}, []string{"GovernanceLost"}},

	{"draining-wait", "the node drains", nil, nil},
	{"draining-wait", "the node drains and its placeholder is still there", []string{"delete Pod noderotation/surge-for-old"}, nil},
	{"redelete", "the drain is decided and nothing is deleted", []string{
		"delete NodeClaim old",
		"delete Pod noderotation/surge-for-old",
	}, nil},
	{"redelete", "the fallback is anchored and nothing else", []string{
		"patch NodePool api: active-rotation-state=draining draining-at=2026-01-09T18:00:00Z",
		"patch NodeClaim old: state=draining",
		"delete NodeClaim old",
	}, []string{"ForcefulFallback"}},
	{"drain-stuck", "the drain is overdue", nil, []string{"DrainStuck"}},
	{"drained", "the drained claim is gone", []string{
		"patch Node new-node: -surge-for -do-not-disrupt-owned -karpenter.sh/do-not-disrupt",
		"patch NodePool api: last-rotation-at=2026-01-09T18:00:00Z -active-rotation -active-rotation-state -anchored-on -draining-at -surge-wait",
	}, []string{"RotationCompleted success", "observe drain 5m0s"}},
	{"drained", "the fallback's claim is gone", []string{
		"patch NodePool api: last-rotation-at=2026-01-09T18:00:00Z -active-rotation -active-rotation-state -anchored-on -draining-at -rotation-mode -surge-wait",
	}, []string{"RotationCompleted success", "observe drain 5m0s"}},
	{"draining-governance-lost", "no policy governs the drain", []string{
		"patch Node new-node: -surge-for -do-not-disrupt-owned -karpenter.sh/do-not-disrupt",
		"patch Node old-node: -surge-for -do-not-disrupt-owned -cordoned -karpenter.sh/do-not-disrupt unschedulable=false",
		"patch NodeClaim old: released-at=2026-01-09T18:00:00Z -state -started-at",
		"patch NodePool api: -active-rotation -anchored-on -active-rotation-state -draining-at -surge-wait",
	}, []string{"GovernanceLost"}},

	{"failed-release", "a failure is still anchored", []string{
		"patch NodeClaim old: released-at=2026-01-09T18:00:00Z",
		"patch NodePool api: last-failure-at=2026-01-09T17:59:00Z -active-rotation -anchored-on",
	}, nil},
	{"retry", "a failure is still anchored and its backoff is over", []string{
		"patch NodeClaim old: started-at=2026-01-09T18:00:00Z state=pending",
		"patch Node old-node: karpenter.sh/do-not-disrupt=true cordoned=true do-not-disrupt-owned=true surge-for=old unschedulable=true",
		"create Pod noderotation/surge-for-old",
	}, []string{"RotationStarted"}},
	{"failed-force-expired", "a failure is still anchored and its claim is being deleted", []string{
		"patch NodeClaim old: state=expired",
		"patch NodePool api: -active-rotation -anchored-on",
	}, []string{"RotationExpired expired"}},
	{"expired-release", "an expiry is still anchored", []string{
		"delete Pod noderotation/surge-for-old",
		"patch Node old-node: -surge-for -do-not-disrupt-owned -cordoned -karpenter.sh/do-not-disrupt unschedulable=false",
		"patch NodePool api: -active-rotation -anchored-on",
	}, nil},
}

var _ = Describe("Each row of the table (§5.2, §5.3)", func() {
	for _, f := range firings {
		It(f.row+": "+f.situation, func() {
			m, err := engine()
			Expect(err).NotTo(HaveOccurred())
			p, err := passOver(m, In(f.situation))
			Expect(err).NotTo(HaveOccurred())
			Expect(p.Row).To(Equal(f.row))
			Expect(p.written()).To(Equal(append([]string{}, f.writes...)))
			Expect(p.told()).To(Equal(append([]string{}, f.tells...)))
		})
	}

	It("has its situation, and each situation its row", func() {
		m, err := engine()
		Expect(err).NotTo(HaveOccurred())
		var rows, situations, met []string
		for i := range m.Table().Rows {
			rows = append(rows, m.Table().Rows[i].ID)
		}
		for _, s := range Situations() {
			situations = append(situations, s.Name)
		}
		for _, f := range firings {
			Expect(rows).To(ContainElement(f.row))
			met = append(met, f.row)
			situations = slices.DeleteFunc(situations, func(s string) bool { return s == f.situation })
		}
		Expect(rows).To(HaveEach(BeElementOf(met)))
		Expect(situations).To(BeEmpty())
	})
})

// Whatever a cluster shows, a pass comes to a plan, and where the cluster does nothing more the passes come to rest: a
// patch that always writes would wake the next pass for ever. No pass needs more writes than a whole rotation.
func TestPassesComeToRest(t *testing.T) {
	m, err := engine()
	if err != nil {
		t.Fatal(err)
	}
	rest := func(t rapid.TB, s rotation.Snapshot) {
		var course []string
		for range 6 {
			if _, err := rotation.State(s); err != nil {
				return // the pool holds still until a person mends the value
			}
			p, err := passOver(m, s)
			if err != nil {
				t.Fatal(err)
			}
			written := p.written()
			if len(written) == 0 {
				return
			}
			if len(written) > 12 {
				t.Errorf("row %s asks for %d writes", p.Row, len(written))
			}
			course = append(course, p.Row+": "+strings.Join(written, "; "))
			s = p.Left
		}
		t.Errorf("the passes go on writing:\n%s", strings.Join(course, "\n"))
	}
	for _, situation := range Situations() {
		t.Run(situation.Name, func(t *testing.T) { rest(t, situation.Snapshot) })
	}
	t.Run("anything", rapid.MakeCheck(func(t *rapid.T) { rest(t, Snapshots().Draw(t, "snapshot")) }))
}

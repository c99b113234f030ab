// SPDX-License-Identifier: Apache-2.0

package explore

import (
	"bytes"
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"noderotation.io/noderotation"
	"noderotation.io/noderotation/controller"
	"noderotation.io/noderotation/effects"
	"noderotation.io/noderotation/guards"
	"noderotation.io/noderotation/laws"
	"noderotation.io/noderotation/machine"
	"noderotation.io/noderotation/rotation"
)

// enoughForMutants is how many states of a scene show a mistake, if it shows there.
const enoughForMutants = 20_000

// caught explores the scenes until one of them shows a breach, which has to say so.
func caught(t *testing.T, search Search, saying string, scenes ...string) {
	t.Helper()
	for _, name := range scenes {
		scene := sceneCalled(t, name)
		search.Scene, search.Most, search.Workers = &scene, enoughForMutants, workers
		if breach := search.Run().Breach; breach != nil {
			if !strings.Contains(breach.What, saying) {
				t.Errorf("what is found is not what was done: %v", breach.Script())
			}
			t.Logf("%v", breach.Script())
			return
		}
	}
	t.Errorf("nothing is found in %q", scenes)
}

func sceneCalled(t *testing.T, name string) Scene {
	t.Helper()
	scenes := Scenes()
	i := slices.IndexFunc(scenes, func(s Scene) bool { return s.Name == name })
	if i < 0 {
		t.Fatalf("there is no scene %q", name)
	}
	return scenes[i]
}

// tableMutant is a mistake in the table that every law lets pass.
type tableMutant struct {
	name   string
	edit   func(string) string
	saying string
	in     string
}

// dropping takes an effect out of a row.
func dropping(row, effect string) func(string) string {
	return func(table string) string {
		begins := strings.Index(table, "- id: "+row+"\n")
		ends := begins + strings.Index(table[begins:], "  requeue:")
		body := table[begins:ends]
		do := strings.Index(body, "  do: [")
		head, list := body[:do], body[do:]
		for _, form := range []string{effect + ", ", ", " + effect, effect + ",\n       ", effect} {
			if strings.Contains(list, form) {
				return table[:begins] + head + strings.Replace(list, form, "", 1) + table[ends:]
			}
		}
		return table
	}
}

// withoutRow takes a row out.
func withoutRow(row string) func(string) string {
	return func(table string) string {
		begins, ends := extent(table, row)
		return table[:begins] + table[ends:]
	}
}

// moved puts a row before another one.
func moved(row, before string) func(string) string {
	return func(table string) string {
		begins, ends := extent(table, row)
		text := table[begins:ends]
		table = table[:begins] + table[ends:]
		at, _ := extent(table, before)
		return table[:at] + text + table[at:]
	}
}

// extent is where a row's text begins and ends.
func extent(table, row string) (begins, ends int) {
	begins = strings.Index(table, "- id: "+row+"\n")
	rest := table[begins+1:]
	length := len(rest)
	for _, next := range []string{"\n- id: ", "\n# ──"} {
		if i := strings.Index(rest, next); i >= 0 && i < length {
			length = i
		}
	}
	return begins, min(begins+1+length+1, len(table))
}

func TestMistakesInTheTableThatTheLawsLetPass(t *testing.T) {
	for _, m := range []tableMutant{
		{name: "a success is not told", edit: dropping("drained", "announce_completed"), saying: "came to success", in: "nobody interferes"},
		{name: "a failure is not told", edit: dropping("pending-timed-out", "announce_failed"), saying: "came to failure", in: "one old node"},
		{name: "an expiry that is found late is not told", edit: dropping("failed-force-expired", "announce_expired"), saying: "came to expired", in: "one old node"},
		{name: "a fallback is not told after a crash", edit: dropping("redelete", "announce_fallback"), saying: "nobody is told", in: "the fallback"},
		{name: "a stuck drain is not told", edit: dropping("drain-stuck", "announce_drain_stuck"), saying: "overdue", in: "nobody interferes"},
		{name: "the timeout comes before the loss of governance", edit: moved("pending-timed-out", "pending-governance-lost"), saying: "came to no end", in: "governance comes and goes"},
		{name: "a freeze holds a rotation past its timeout", edit: moved("pending-held", "pending-timed-out"), saying: "came to failure", in: "an operator's freeze"},
		{name: "a start leaves the node unprotected", edit: dropping("start", "freeze"), saying: "not protected and cordoned", in: "one old node"},
		{name: "a start leaves the node open", edit: dropping("start", "cordon"), saying: "not protected and cordoned", in: "one old node"},
		{name: "a retry leaves the node open", edit: dropping("retry", "cordon"), saying: "not protected and cordoned", in: "one old node"},
		{name: "a surge is preferred to the fallback", edit: moved("start", "start-fallback"), saying: "fallback false", in: "the fallback"},
		{name: "surge-claim does not follow the placeholder", edit: dropping("pending-wait", "record_surge_claim"), saying: "surge-claim says", in: "one old node"},
		{name: "an expiry after a failure is taken for the failure", edit: withoutRow("failed-force-expired"), saying: "came to expired", in: "one old node"},
		{name: "nobody asks for the replacement again", edit: dropping("pending-wait", "placeholder"), saying: "nobody asks", in: "one old node"},
	} {
		t.Run(m.name, func(t *testing.T) {
			text := m.edit(string(noderotation.Transitions))
			if text == string(noderotation.Transitions) {
				t.Fatal("the table is as it was")
			}
			mutant, err := controller.LoadTable("mutant.yaml", []byte(text))
			if err != nil {
				t.Fatalf("a law sees it: %v", err)
			}
			caught(t, Search{Machine: mutant}, m.saying, m.in)
		})
	}
}

// tabled is the product's table on changed guards and effects, and without the laws that are named.
func tabled(t *testing.T, table string, guard map[string]func(*rotation.Snapshot) machine.Verdict, effect map[string]applied, unlawful ...string) *controller.Machine {
	t.Helper()
	gs, es := guards.All(), effects.All()
	changed := 0
	for i := range gs {
		if check, is := guard[gs[i].Name]; is {
			gs[i].Check, changed = check, changed+1
		}
	}
	for i := range es {
		if apply, is := effect[es[i].Name]; is {
			es[i].Apply, changed = apply, changed+1
		}
	}
	if changed != len(guard)+len(effect) {
		t.Fatal("a guard or an effect of that name does not exist")
	}
	registry, err := machine.NewRegistry(gs, es)
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := machine.Parse("mutant.yaml", []byte(table))
	if err != nil {
		t.Fatal(err)
	}
	all := append(machine.GenericLaws(machine.Options{Bound: controller.RequeueBound}), laws.All()...)
	all = slices.DeleteFunc(all, func(l machine.Law) bool { return slices.Contains(unlawful, l.Name) })
	m, err := machine.Compile(parsed, registry, all)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

type applied = func(*rotation.Snapshot) (*rotation.Snapshot, []effects.Action, error)

// effectOf is the product's own effect.
func effectOf(name string) applied {
	all := effects.All()
	return all[slices.IndexFunc(all, func(e effects.Effect) bool { return e.Name == name })].Apply
}

func guardOf(name string) func(*rotation.Snapshot) machine.Verdict {
	all := guards.All()
	return all[slices.IndexFunc(all, func(g guards.Guard) bool { return g.Name == name })].Check
}

// nothing is an effect that has been forgotten.
func nothing(s *rotation.Snapshot) (*rotation.Snapshot, []effects.Action, error) { return s, nil, nil }

// altered changes the actions of an effect.
func altered(name string, change func(effects.Action) effects.Action) applied {
	apply := effectOf(name)
	return func(s *rotation.Snapshot) (*rotation.Snapshot, []effects.Action, error) {
		s, actions, err := apply(s)
		for i := range actions {
			actions[i] = change(actions[i])
		}
		return s, actions, err
	}
}

// forgetting leaves keys out of what an effect writes to claims.
func forgetting(name string, keys ...string) applied {
	return altered(name, func(a effects.Action) effects.Action {
		patch, is := a.(effects.PatchClaim)
		if !is {
			return a
		}
		set := maps.Clone(patch.Change.Set)
		for _, key := range keys {
			delete(set, key)
		}
		patch.Change = effects.Change{Set: set, Remove: slices.DeleteFunc(slices.Clone(patch.Change.Remove), func(k string) bool { return slices.Contains(keys, k) })}
		return patch
	})
}

// seen shows a guard or an effect another snapshot.
func seen(s *rotation.Snapshot, node func(*corev1.Node)) *rotation.Snapshot {
	for _, n := range s.Nodes {
		changed := n.DeepCopy()
		node(changed)
		s = s.WithNode(changed)
	}
	return s
}

// marking has an effect claim as ours what it comes by.
func marking(name, marker string) applied {
	return altered(name, func(a effects.Action) effects.Action {
		if patch, is := a.(effects.PatchNode); is {
			patch.Change.Set = rotation.Annotate(patch.Change.Set, map[string]string{marker: rotation.ValueTrue})
			return patch
		}
		return a
	})
}

func yes(*rotation.Snapshot) machine.Verdict { return machine.Yes("it is taken for granted") }

func TestMistakesInGuardsAndEffects(t *testing.T) {
	type checks = map[string]func(*rotation.Snapshot) machine.Verdict
	type effs = map[string]applied
	for _, m := range []struct {
		name    string
		guards  checks
		effects effs
		saying  string
		in      []string
	}{
		{"the surge is taken for ready while its placeholder is being removed", checks{"surge_ready": func(s *rotation.Snapshot) machine.Verdict {
			for _, p := range s.Placeholders {
				p = p.DeepCopy()
				p.DeletionTimestamp = nil
				s = s.WithoutPlaceholder(p.Name).WithPlaceholder(p)
			}
			return guardOf("surge_ready")(s)
		}}, nil, "without a ready surge", []string{"one old node"}},
		{"the surge is taken for ready on a node that is not", checks{"surge_ready": func(s *rotation.Snapshot) machine.Verdict {
			return guardOf("surge_ready")(seen(s, func(n *corev1.Node) { setNodeReady(n, true) }))
		}}, nil, "without a ready surge", []string{"one old node"}},
		{"no earlier drain is looked for", checks{"pool_settled": yes}, nil, "starts beside", []string{"the policy alone comes and goes"}},
		{"a freeze that cannot be read does not count", checks{"frozen": func(s *rotation.Snapshot) machine.Verdict {
			if _, until := s.Freeze(); until.Present && !until.Readable {
				return machine.No("it cannot be read")
			}
			return guardOf("frozen")(s)
		}}, nil, "is frozen", []string{"an operator's freeze"}},
		{"every candidate is late", checks{"forceful_fallback": func(s *rotation.Snapshot) machine.Verdict {
			if s.Selection.Candidate == "" || !s.Governance.Terms.FallbackEnabled {
				return machine.No("no")
			}
			return machine.Yes("late")
		}}, nil, "fallback true", []string{"the fallback"}},
		{"an attempt times out at once", checks{"ready_timeout_elapsed": func(s *rotation.Snapshot) machine.Verdict {
			if _, exists := s.Claim(s.Anchor()); !exists {
				return machine.No("gone")
			}
			return machine.Yes("elapsed")
		}}, nil, "", []string{"one old node"}},
		{"a deletion by another hand is not seen", checks{"deletion_timestamp": func(*rotation.Snapshot) machine.Verdict { return machine.No("not seen") }}, nil, "", []string{"one old node"}},
		{"an operator's protection is taken for ours", nil, effs{"freeze": marking("freeze", rotation.KeyDoNotDisruptOwned)},
			"an operator protects", []string{"an operator's marks"}},
		{"an operator's cordon is taken for ours", nil, effs{"freeze": marking("freeze", rotation.KeyCordoned)}, "an operator has cordoned", []string{"an operator's marks"}},
		{"protection and cordon are not taken back", nil, effs{"unfreeze": nothing}, "is over, and Node", []string{"one old node"}},
		{"the induced claim is reaped whoever lives there", nil, effs{"reap": func(s *rotation.Snapshot) (*rotation.Snapshot, []effects.Action, error) {
			empty := *s
			empty.PodsByNode = maps.Clone(s.PodsByNode)
			for node := range s.PodsByNode {
				empty.PodsByNode[node] = nil
			}
			return effectOf("reap")(&empty)
		}}, "runs on it", []string{"one old node"}},
		{"a lost governance does not say when it let go", nil, effs{"reset_claim": forgetting("reset_claim", rotation.KeyReleasedAt)}, "starts beside", []string{"the policy alone comes and goes"}},
		{"a failure is not counted", nil, effs{"mark_failed": forgetting("mark_failed", rotation.KeyRetryCount)}, "not counted", []string{"one old node"}},
		{"a failure leaves the attempt's start", nil, effs{"mark_failed": forgetting("mark_failed", rotation.KeyStartedAt)}, "started-at", []string{"one old node"}},
		{"an attempt begins on an anchor that is on its way out", nil, effs{"renew_anchor": nothing}, "has no anchor", []string{"two leaders"}},
		{"a rotation that is let go leaves no trace of that on its claim", nil, effs{"reset_claim": forgetting("reset_claim", rotation.KeyReleasedAt)}, "has no anchor", []string{"two leaders"}},
		{"the placeholder is left behind", nil, effs{"delete_placeholder": nothing}, "", []string{"one old node"}},
	} {
		t.Run(m.name, func(t *testing.T) {
			mutant := tabled(t, string(noderotation.Transitions), m.guards, m.effects)
			caught(t, Search{Machine: mutant}, m.saying, m.in...)
		})
	}
}

// What the draining rows say again is for what a crash left between the delete and the hand-over (§3.3).
func TestWithoutTheHandOversReassertion(t *testing.T) {
	table := string(noderotation.Transitions)
	for _, row := range []string{"redelete", "drain-stuck", "draining-wait"} {
		table = dropping(row, "delete_placeholder")(table)
	}
	caught(t, Search{Machine: tabled(t, table, nil, nil, "handed-over")}, "still holds the room", "an old and a young node")
}

// A pass over a cache that is older than an own write decides on what is no longer true. That does harm where it does not ask
// either, before a write that no version guards, whether its claim is as it was.
func TestWithoutReadingItsOwnWrites(t *testing.T) {
	caught(t, Search{Machine: theTable(t), Hand: unasked, Forgetful: true}, "", "one old node")
	scene := sceneCalled(t, "one old node")
	mindful := Search{Scene: &scene, Machine: theTable(t), Hand: unasked, Most: enoughForMutants, Workers: workers}
	if breach := mindful.Run().Breach; breach != nil {
		t.Errorf("a process that remembers does harm too: %v", breach.Script())
	}
}

// unasked is a hand that gets to hear that a claim is as it was, whatever it is.
func unasked(c client.Client) client.Client {
	return careless{Client: c, patch: func(_ client.Object, how types.PatchType, body []byte) []byte { return unconfirmed(how, body) }}
}

// careless is a hand that leaves out what a write depends on.
type careless struct {
	client.Client
	// patch rewrites the body of a patch of the object; nil for as it is.
	patch func(object client.Object, how types.PatchType, body []byte) []byte
	// blind is true where deletes name no UID, of the kind that is told.
	blind func(client.Object) bool
	// whatever is true where a delete names the UID alone.
	whatever bool
}

func (c careless) Patch(ctx context.Context, object client.Object, patch client.Patch, options ...client.PatchOption) error {
	body, err := patch.Data(object)
	if err != nil {
		return err
	}
	if c.patch != nil {
		body = c.patch(object, patch.Type(), body)
	}
	return c.Client.Patch(ctx, object, client.RawPatch(patch.Type(), body), options...)
}

func (c careless) Delete(ctx context.Context, object client.Object, options ...client.DeleteOption) error {
	if c.blind != nil && c.blind(object) {
		options = nil
	}
	if uid := object.GetUID(); c.whatever && len(options) > 0 {
		options = []client.DeleteOption{client.Preconditions{UID: &uid}}
	}
	return c.Client.Delete(ctx, object, options...)
}

// unversioned takes the resourceVersion out of merge patches, untested the tests out of JSON patches.
func unversioned(how types.PatchType, body []byte) []byte {
	if how != types.MergePatchType {
		return body
	}
	var patch map[string]map[string]any
	if json.Unmarshal(body, &patch) != nil {
		return body
	}
	delete(patch["metadata"], "resourceVersion")
	body, _ = json.Marshal(patch)
	return body
}

// unconfirmed takes the resourceVersion out of merge patches that ask for nothing else.
func unconfirmed(how types.PatchType, body []byte) []byte {
	if bytes.Contains(body, []byte(`"annotations"`)) {
		return body
	}
	return unversioned(how, body)
}

// generationless takes out of JSON patches the test of what the anchor was written on.
func generationless(how types.PatchType, body []byte) []byte {
	if how != types.JSONPatchType {
		return body
	}
	var ops []map[string]any
	if json.Unmarshal(body, &ops) != nil {
		return body
	}
	ops = slices.DeleteFunc(ops, func(op map[string]any) bool {
		path, _ := op["path"].(string)
		return op["op"] == "test" && strings.HasSuffix(path, "anchored-on")
	})
	body, _ = json.Marshal(ops)
	return body
}

// asSeen takes out of JSON patches what is removed whether or not it was seen: that is set first.
func asSeen(how types.PatchType, body []byte) []byte {
	if how != types.JSONPatchType {
		return body
	}
	var ops []map[string]any
	if json.Unmarshal(body, &ops) != nil {
		return body
	}
	unseen := map[any]bool{}
	for _, op := range ops {
		unseen[op["path"]] = unseen[op["path"]] || op["op"] == "add" && op["value"] == ""
	}
	body, _ = json.Marshal(slices.DeleteFunc(ops, func(op map[string]any) bool { return unseen[op["path"]] }))
	return body
}

func untested(how types.PatchType, body []byte) []byte {
	if how != types.JSONPatchType {
		return body
	}
	var ops []map[string]any
	if json.Unmarshal(body, &ops) != nil {
		return body
	}
	ops = slices.DeleteFunc(ops, func(op map[string]any) bool { return op["op"] == "test" })
	body, _ = json.Marshal(ops)
	return body
}

func TestWithoutEachConditionalWrite(t *testing.T) {
	of := func(kind string, strip func(types.PatchType, []byte) []byte) careless {
		return careless{patch: func(object client.Object, how types.PatchType, body []byte) []byte {
			if kindOf(object) == kind {
				return strip(how, body)
			}
			return body
		}}
	}
	deleting := func(kind string) careless {
		return careless{blind: func(o client.Object) bool { return kindOf(o) == kind }}
	}
	for _, m := range []struct {
		name   string
		hand   careless
		saying string
		in     []string
	}{
		{"the anchor, on the version that was decided on", of("NodePool", unversioned), "", []string{"two leaders"}},
		{"the NodePool, on the anchor", of("NodePool", untested), "no rotation is anchored", []string{"two leaders, and spare capacity"}},
		{"the NodeClaim, on its version", of("NodeClaim", unversioned), "", []string{"two leaders"}},
		{"a rollback and a placeholder, on the version of their NodeClaim", of("NodeClaim", unconfirmed), "", []string{"a process that begins on a cache that lags"}},
		{"the NodePool, on the attempt that the anchor is of", of("NodePool", generationless), "", []string{"two leaders"}},
		{"the delete of a NodeClaim, on its version", careless{whatever: true}, "", []string{"two leaders, and spare capacity"}},
		{"the end of an anchor, with companions that no cache has shown", of("NodePool", asSeen), "no rotation is anchored", []string{"two leaders, and nobody else"}},
		{"the Node, on its marks", of("Node", untested), "an operator protects", []string{"a cache that lags"}},
		{"the delete of a NodeClaim, on its UID", deleting("NodeClaim"), "not the one that the pass has seen", []string{"what comes back by its name"}},
		{"the delete of a Pod, on its UID", deleting("Pod"), "not the one that the pass has seen", []string{"what comes back by its name"}},
	} {
		t.Run(m.name, func(t *testing.T) {
			hand := func(c client.Client) client.Client {
				mutant := m.hand
				mutant.Client = c
				return mutant
			}
			caught(t, Search{Machine: theTable(t), Hand: hand}, m.saying, m.in...)
		})
	}
}

// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/util/yaml"

	"noderotation.io/noderotation/api/v1alpha1"
	"noderotation.io/noderotation/rotation"
	"noderotation.io/noderotation/test/e2e/record"
)

// widthOfTerminal is how long a line may be.
const widthOfTerminal = 100

func TestTheTallyCountsNodesAndPods(t *testing.T) {
	recording := record.NewRecording(standing(), oneRotation()...)
	counted := two.begin(recording.Between(0, 0).End())
	recording.Replay(func(_ record.Event, world record.World) { counted = counted.count(two, world) })
	want := tally{New: 1, Of: 2, Nodes: 2, MostNodes: 3, FewestReady: 1, Replicas: 2}
	if counted != want {
		t.Errorf("counted %+v, not %+v", counted, want)
	}
	if got, want := counted.progress().Text, "■□  1 of 2 nodes new; the pool has 2 nodes, and never had more than 3"; got != want {
		t.Errorf("told %q, not %q", got, want)
	}
}

func TestTheFleetIsNewOnceNothingIsUnderWay(t *testing.T) {
	f := two
	f.Originals, f.Nodes = []string{"old"}, 1
	var when []int
	record.NewRecording(standing(), oneRotation()...).Replay(func(event record.Event, world record.World) {
		if f.isNew(world) {
			when = append(when, int(event.Revision))
		}
	})
	if last := len(oneRotation()); !slices.Equal(when, []int{last}) {
		t.Errorf("the fleet is new at events %v, not at the last, %d", when, last)
	}
}

func TestTheVerdict(t *testing.T) {
	f := two
	f.Originals, f.Nodes = []string{"old"}, 2
	good := record.NewRecording(standing(), oneRotation()...)
	breaches := judge(f, good)
	if want := []string{"1 nodes were drained by a rotation, not 2"}; !slices.Equal(breaches, want) {
		t.Errorf("found %q, not %q", breaches, want)
	}
	cut := slices.DeleteFunc(oneRotation(), func(event record.Event) bool {
		return event.Object().GetName() == "surge-for-old"
	})
	if found := judge(f, record.NewRecording(standing(), cut...)); !slices.ContainsFunc(found, func(breach string) bool {
		return strings.Contains(breach, "no placeholder stands for it")
	}) {
		t.Errorf("a drain without its surge is no breach: %q", found)
	}

	counted := tally{New: 4, Of: 4, FewestReady: 11, Replicas: 12}
	if got, want := conclude(counted, nil, 51*time.Second), "4 of 4 nodes replaced in 51s; PDB never violated: never under 11 of 12 Ready"; got.Text != want || got.What != verdictGood {
		t.Errorf("concluded %q", got.Text)
	}
	if got := conclude(counted, breaches, time.Minute); got.What != verdictBad || !slices.Equal(got.Breaches, breaches) {
		t.Errorf("concluded %+v", got)
	}
}

// everything is a happening of every look.
func everything() []happening {
	all := []happening{by(demonstration, windowOpen, "", "the window is open")}
	record.NewRecording(standing(), oneRotation()...).Replay(func(event record.Event, world record.World) {
		all = append(all, two.narrate(event, world)...)
	})
	return append(all, tally{New: 1, Of: 2}.progress(), conclude(tally{}, nil, 0), conclude(tally{}, []string{"a promise"}, 0))
}

func TestTextIsPlainUnlessColoured(t *testing.T) {
	for _, coloured := range []bool{false, true} {
		var out bytes.Buffer
		for _, h := range everything() {
			if err := inText(&out, coloured)(h); err != nil {
				t.Fatal(err)
			}
		}
		if got := strings.Contains(out.String(), "\x1b"); got != coloured {
			t.Errorf("coloured=%t: escape sequences: %t", coloured, got)
		}
		for line := range strings.Lines(out.String()) {
			if width := utf8.RuneCountInString(line) - 1; !coloured && width > widthOfTerminal {
				t.Errorf("%d characters: %s", width, line)
			}
		}
	}
}

func TestALineSaysWhenWhoWhat(t *testing.T) {
	var out bytes.Buffer
	start := time.Date(2026, time.March, 2, 9, 30, 0, 0, time.UTC)
	tell := from(start, func() time.Time { return start.Add(12340 * time.Millisecond) }, inText(&out, false))
	if err := tell(by(karpenter, claimLaunched, "NodeClaim/fresh", "launches NodeClaim fresh")); err != nil {
		t.Fatal(err)
	}
	if want := "  12.3s  karpenter     launches NodeClaim fresh\n"; out.String() != want {
		t.Errorf("%q, not %q", out.String(), want)
	}
}

func TestJSONIsAnObjectPerHappening(t *testing.T) {
	var out bytes.Buffer
	for _, h := range everything() {
		if err := inJSON(&out)(h); err != nil {
			t.Fatal(err)
		}
	}
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	if len(lines) != len(everything()) {
		t.Fatalf("%d lines for %d happenings", len(lines), len(everything()))
	}
	var last map[string]any
	for _, line := range lines {
		last = nil
		if err := json.Unmarshal([]byte(line), &last); err != nil {
			t.Errorf("%v: %s", err, line)
		}
	}
	if last["happening"] != string(verdictBad) || last["fleet"] == nil || last["breaches"] == nil {
		t.Errorf("the verdict is %v", last)
	}
}

func TestTheManifestsAreTheSample(t *testing.T) {
	late := time.Date(2026, time.March, 2, 22, 30, 59, 0, time.FixedZone("", 3600))
	w := windowFrom(late)
	if (w != window{Start: "21:30", End: "01:30"}) {
		t.Errorf("the window is %v", w)
	}
	manifest, err := policy(w)
	if err != nil {
		t.Fatal(err)
	}
	var p v1alpha1.RotationPolicy
	if err := yaml.UnmarshalStrict(manifest, &p); err != nil {
		t.Fatal(err)
	}
	if assessed := rotation.Assess(&p, late); assessed.Invalid() {
		t.Errorf("the policy is invalid: %s", assessed.Reason())
	}
	if p.Spec.Surge.CooldownAfter.Duration != sample().Cooldown {
		t.Errorf("the policy rests for %s, the narration says %s", p.Spec.Surge.CooldownAfter.Duration, sample().Cooldown)
	}
	documents := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(fleetManifest), 4096)
	for {
		var workload appsv1.Deployment
		if err := documents.Decode(&workload); errors.Is(err, io.EOF) {
			t.Fatal("the sample has no Deployment")
		} else if err == nil && workload.Kind == "Deployment" {
			if int(*workload.Spec.Replicas) != sample().Replicas || workload.Name != sample().App {
				t.Errorf("the Deployment %s has %d replicas", workload.Name, *workload.Spec.Replicas)
			}
			return
		}
	}
}

// SPDX-License-Identifier: Apache-2.0

package explore

import (
	stdflag "flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"noderotation.io/noderotation"
	"noderotation.io/noderotation/effects"
)

var update = stdflag.Bool("update", false, "write what comes of the scripts into testdata")

// Every way to a breach that the explorer has found is kept, and leads to none any more. `go test ./sim/explore -run Scripts
// -update` writes anew what comes of their steps.
func TestTheScriptsOfWhatWasFoundLeadToNoBreach(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("there are no scripts: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			content, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			script, err := ReadScript(file, string(content))
			if err != nil {
				t.Fatal(err)
			}
			text, breached, err := script.Play(theTable(t), nil)
			if err != nil {
				t.Fatal(err)
			}
			if breached {
				t.Errorf("an invariant breaks:\n%s", text)
			}
			if *update {
				if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			} else if text != string(content) {
				t.Errorf("what comes of the script is not what stands in the file (-update writes it anew):\n%s", text)
			}
		})
	}
}

// What is kept of decisions that had gone stale leads to a breach where a write that no version guards is made without asking.
func TestTheScriptsOfStaleDecisionsNeedTheQuestion(t *testing.T) {
	for file, says := range map[string]string{
		"reaped-beside-a-drain.txt":        "api-new-1 is deleted as the surge of api-0, whose drain is decided",
		"reaped-after-a-lost-answer.txt":   "api-new-1 is deleted as the surge of api-0, whose drain is decided",
		"room-given-up-before-a-drain.txt": "placeholder surge-for-api-0 is deleted although the drain of api-0 is decided and has not begun",
		"placeholder-beside-a-drain.txt":   "placeholder surge-for-api-0 is created again although the drain of api-0 has begun",
	} {
		content, err := os.ReadFile(filepath.Join("testdata", file))
		if err != nil {
			t.Fatal(err)
		}
		script, err := ReadScript(file, string(content))
		if err != nil {
			t.Fatal(err)
		}
		if text, _, err := script.Play(theTable(t), unasked); err != nil || !strings.Contains(text, "BREACH: "+says) {
			t.Errorf("%s does not lead to %q: %v\n%s", file, says, err, text)
		}
	}
}

// What the explorer prints of a breach is a script that leads to it again.
func TestABreachIsPrintedAsAScriptThatReplaysIt(t *testing.T) {
	broken := tabled(t, string(noderotation.Transitions), nil, map[string]applied{effects.DeletePlaceholder: nothing})
	scene := sceneCalled(t, "one old node")
	breach := (&Search{Scene: &scene, Machine: broken, Most: enoughForMutants, Workers: workers}).Run().Breach
	if breach == nil {
		t.Fatal("nothing is found")
	}
	script, err := ReadScript("printed", breach.Script().String())
	if err != nil {
		t.Fatal(err)
	}
	text, breached, err := script.Play(broken, nil)
	if err != nil {
		t.Fatal(err)
	}
	if !breached || !strings.Contains(text, "BREACH: "+breach.What) {
		t.Errorf("the script does not lead to %q:\n%s", breach.What, text)
	}
	if _, breached, err = script.Play(theTable(t), nil); err == nil && breached {
		t.Error("the script leads to a breach where nothing is broken")
	}
}

func TestAScriptThatLeadsNowhereIsRefused(t *testing.T) {
	for text, says := range map[string]string{
		"> time passes\n":                "x.txt has no scene",
		"scene: two leaders\nand then\n": `x.txt:2: "and then" is no line of a script`,
		"scene: nowhere\n":               `there is no scene "nowhere"`,
		"scene: two leaders\n> the placeholder surge-for-x runs\n": "step 1",
	} {
		script, err := ReadScript("x.txt", text)
		if err == nil {
			_, _, err = script.Play(theTable(t), nil)
		}
		if err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%q: %v, where %q is expected", text, err, says)
		}
	}
}

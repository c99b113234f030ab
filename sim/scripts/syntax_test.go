// SPDX-License-Identifier: Apache-2.0

package scripts_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"noderotation.io/noderotation/sim/scripts"
)

// aScript is a small one, edited.
func aScript(edit ...string) string {
	return strings.NewReplacer(edit...).Replace(`title    A rotation begins
section  §5.3
about    It has a setting and two steps.

start    2026-01-09 17:00 UTC
policy   weekly
  window Wed,Sat 02:00-06:00 Asia/Tokyo
pool     api
  expireAfter 14d; terminationGracePeriod 1h; nodes 10d, 1d
  pods 2 a node; cpu 1500m

> run 30s

# A comment stays where it is.
> why api
`)
}

func parsed(t *testing.T, text string) *scripts.Script {
	t.Helper()
	script, err := scripts.Parse("a.txt", text)
	if err != nil {
		t.Fatal(err)
	}
	return script
}

func ran(t *testing.T, script *scripts.Script) *scripts.Script {
	t.Helper()
	result, err := script.Run(theTable(t))
	if err != nil {
		t.Fatal(err)
	}
	return result
}

func TestWhatIsWrongWithAScriptIsSaidWithFileAndLine(t *testing.T) {
	for _, c := range []struct{ name, script, problem string }{
		{"no title", aScript("title    A rotation begins\n", ""), "a.txt:1: the script has no title"},
		{"no section", aScript("section  §5.3\n", ""), "a.txt:1: the script names no section"},
		{"no start", aScript("start    2026-01-09 17:00 UTC\n", ""), "a.txt:5: put the start before policy"},
		{"a start without a zone", aScript("17:00 UTC", "17:00"), "a.txt:5: \"2026-01-09 17:00\" is no start"},
		{"an unknown keyword", aScript("pool     api", "pol      api"), "a.txt:8: there is no keyword \"pol\""},
		{"an unknown property", aScript("cpu 1500m", "cpus 1500m"), "a.txt:10: pool api: there is no property \"cpus\""},
		{"an unreadable duration", aScript("expireAfter 14d", "expireAfter 2w"), "a.txt:9: pool api: expireAfter 2w: \"2w\" is no duration"},
		{"an unreadable amount", aScript("cpu 1500m", "limit cpu many"), "a.txt:10: pool api: limit cpu many: \"many\" is no amount"},
		{"a pool without a name", aScript("pool     api", "pool"), "a.txt:8: pool: give it a name"},
		{"a window without a zone", aScript(" Asia/Tokyo", ""), "a.txt:7: policy weekly: window Wed,Sat 02:00-06:00: write days, hours and zone"},
		{"an unknown step", aScript("run 30s", "jump 30s"), "a.txt:12: \"jump 30s\" is no step. There are:"},
		{"a step like another", aScript("run 30s", "freeze pool api"), "freeze pool <pool> until <time>"},
		{"an unknown kind", aScript("run 30s", "delete job api"), "a.txt:12: delete <kind> <name>: \"job\" is no kind of object"},
		{"a step without its mark", aScript("> why api", "why api"), "a.txt:15: the line is no step"},
		{"a property of nothing", aScript("title    A rotation begins", "  title"), "a.txt:1: the line is indented"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := scripts.Parse("a.txt", c.script)
			var problems scripts.Problems
			if !errors.As(err, &problems) || !strings.Contains(err.Error(), c.problem) {
				t.Errorf("it is said: %v\nwanted:     %s", err, c.problem)
			}
		})
	}
}

func TestAllThatIsWrongIsSaidAtOnce(t *testing.T) {
	_, err := scripts.Parse("a.txt", aScript("nodes 10d", "nodes ten", "run 30s", "run long", "why api", "ask api"))
	var problems scripts.Problems
	if !errors.As(err, &problems) || len(problems) != 3 {
		t.Fatalf("%d problems of 3 are said: %v", len(problems), err)
	}
}

func TestAStepThatCannotBeMadeIsSaidWithFileAndLine(t *testing.T) {
	for _, c := range []struct{ name, step, problem string }{
		{"nobody is there", "cordon node api-7", "a.txt:15: there is no Node api-7"},
		{"the time is over", "run until 10s", "a.txt:15: 10s lies behind: it is 30s"},
		{"no such placeholder", "delete placeholder api-1", "a.txt:15: there is no placeholder api-1 at 30s"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := parsed(t, aScript("why api", c.step)).Run(theTable(t))
			var problem scripts.Problem
			if !errors.As(err, &problem) || err.Error() != c.problem {
				t.Errorf("it is said: %v\nwanted:     %s", err, c.problem)
			}
		})
	}
	_, err := parsed(t, aScript("> run 30s", "node     api-9\n  cordoned\n\n> run 30s")).Run(theTable(t))
	if err == nil || !strings.HasPrefix(err.Error(), "a.txt:12: no pool has a node api-9") {
		t.Errorf("of a node that no pool has is said: %v", err)
	}
}

func TestAScriptIsPrintedAsItIsRead(t *testing.T) {
	for _, script := range all(t) {
		text, err := os.ReadFile(script.File)
		if err != nil {
			t.Fatal(err)
		}
		if printed := script.Print(); printed != string(text) {
			t.Errorf("%s is printed as\n%s", script.File, printed)
		}
	}
}

func TestAScriptIsMadeOfItsParts(t *testing.T) {
	made, err := scripts.New("Two leaders", []string{"§5.1", "§5.2"}, []string{
		"start    2026-01-09 17:00 UTC", "pool     api", "  expireAfter 14d; nodes 10d",
	}, []string{"run 1m", "why api"})
	if err != nil {
		t.Fatal(err)
	}
	text := ran(t, made).Print()
	again := parsed(t, text)
	if again.Title != "Two leaders" || len(again.Steps) != 2 || again.Print() != text {
		t.Errorf("it comes back as\n%s", again.Print())
	}
	if trace := again.Steps[1].Trace; len(trace) != 4 || trace[0] != "idle: rest fires" {
		t.Errorf("its last step has the trace %q", trace)
	}
}

func TestADocumentIsPlayedByWhomeverKnowsItsSteps(t *testing.T) {
	document, err := scripts.NewDocument("Knock", []string{"§5.3"}, []string{"scene    a door"}, []string{"knock", "enter"})
	if err != nil {
		t.Fatal(err)
	}
	if entries := document.Entries; len(entries) != 1 || entries[0].Keyword != "scene" || entries[0].Name != "a door" {
		t.Errorf("it has the entries %v", entries)
	}
	locked := errors.New("the door is locked")
	_, err = document.Play(func(step scripts.Step) ([]string, error) {
		if step.Text == "enter" {
			return nil, locked
		}
		return []string{"nobody answers"}, nil
	})
	if want := (scripts.Problem{Line: 8, Message: "the door is locked"}); !errors.Is(err, want) {
		t.Errorf("it ends with %v", err)
	}
}

func TestTheSameScriptGivesTheSameTrace(t *testing.T) {
	for _, name := range []string{"backoff", "cooldown", "two-pools", "cache-lag"} {
		text, err := os.ReadFile(filepath.Join("testdata", name+".txt"))
		if err != nil {
			t.Fatal(err)
		}
		script := parsed(t, string(text))
		if first, second := ran(t, script).Print(), ran(t, script).Print(); first != second {
			t.Errorf("%s gives\n%s\nand then\n%s", name, first, second)
		}
	}
}

func TestATraceThatIsNotTheOneInTheFileIsShownLineByLine(t *testing.T) {
	right := ran(t, parsed(t, aScript()))
	wrong := parsed(t, strings.Replace(right.Print(), "started-at=+0s state=pending", "started-at=+0s", 1))
	differences := wrong.Differences(ran(t, wrong).Document)
	if len(differences) != 1 {
		t.Fatalf("%d differences are shown instead of one", len(differences))
	}
	shown := differences[0].String()
	for _, line := range []string{
		"a.txt:12: > run 30s\n",
		"\n      …\n",
		"\n                  patch NodePool api: active-rotation=api-0 anchored-on=…\n",
		"\n    -             patch NodeClaim api-0: started-at=+0s\n",
		"\n    +             patch NodeClaim api-0: started-at=+0s state=pending\n",
	} {
		if !strings.Contains(shown, line) {
			t.Errorf("%q is missing in\n%s", line, shown)
		}
	}
	if differences := right.Differences(ran(t, right).Document); len(differences) != 0 {
		t.Errorf("of the true trace is shown: %v", differences)
	}
}

func TestADirectoryWithoutScriptsIsAnError(t *testing.T) {
	if _, err := scripts.ReadAll(fstest.MapFS{"notes.md": {}}, "here"); err == nil || !strings.Contains(err.Error(), "no scenario script in here") {
		t.Errorf("it is said: %v", err)
	}
	if _, err := scripts.ReadAll(scripts.Library(), "library"); err != nil {
		t.Errorf("of the library is said: %v", err)
	}
}

// SPDX-License-Identifier: Apache-2.0

package explore

import (
	"errors"
	"fmt"
	"hash/maphash"
	"slices"
	"strings"

	"noderotation.io/noderotation/controller"
)

// Script is a way through a scene, to be gone again: what the explorer prints of a breach, and what is kept of one once
// it is mended. Its text has comments (#), the scene, and a line for every step (>), each in the words of Step.String. Under a
// step may stand what came of it; that is for the reader, and written anew by Trace.
type Script struct {
	// Comments come first; each is a line, without its mark.
	Comments []string
	Scene    string
	Steps    []string
}

const (
	commentMark = "#"
	sceneMark   = "scene: "
	stepMark    = "> "
)

// Script is the breach as a script that replays it.
func (b *Breach) Script() Script {
	script := Script{Comments: []string{b.What}, Scene: b.Scene}
	for _, step := range b.Path {
		script.Steps = append(script.Steps, step.String())
	}
	return script
}

// ReadScript reads a script. The error names the file and every line that is none.
func ReadScript(name, text string) (Script, error) {
	var script Script
	var errs []error
	for i, line := range strings.Split(text, "\n") {
		switch trimmed := strings.TrimSpace(line); {
		case trimmed == "", strings.HasPrefix(line, " "):
		case strings.HasPrefix(line, commentMark):
			script.Comments = append(script.Comments, strings.TrimSpace(strings.TrimPrefix(line, commentMark)))
		case strings.HasPrefix(line, sceneMark) && script.Scene == "":
			script.Scene = strings.TrimPrefix(trimmed, sceneMark)
		case strings.HasPrefix(line, stepMark):
			script.Steps = append(script.Steps, strings.TrimPrefix(trimmed, stepMark))
		default:
			errs = append(errs, fmt.Errorf("%s:%d: %q is no line of a script: write `# comment`, one `scene: NAME` or `> step`, and indent what came of a step",
				name, i+1, trimmed))
		}
	}
	if script.Scene == "" {
		errs = append(errs, fmt.Errorf("%s has no scene: write a line `scene: NAME`", name))
	}
	return script, errors.Join(errs...)
}

// String is the script without what comes of it.
func (s Script) String() string {
	var out strings.Builder
	s.head(&out)
	for _, step := range s.Steps {
		fmt.Fprintln(&out, stepMark+step)
	}
	return out.String()
}

func (s Script) head(out *strings.Builder) {
	for _, comment := range s.Comments {
		fmt.Fprintln(out, strings.TrimSpace(commentMark+" "+comment))
	}
	fmt.Fprintf(out, "%s%s\n\n", sceneMark, s.Scene)
}

// Play goes the script's way with a machine, through hand where that is set. The text is the script with what came of every
// step; breached tells whether an invariant broke on the way, or the cluster does not find back to idle from its end. The error
// is of a script that leads nowhere: a scene that there is not, or a step that cannot be taken.
func (s Script) Play(m *controller.Machine, hand Hand) (text string, breached bool, err error) {
	scenes := Scenes()
	i := slices.IndexFunc(scenes, func(scene Scene) bool { return scene.Name == s.Scene })
	if i < 0 {
		return "", false, fmt.Errorf("there is no scene %q; name one of %q", s.Scene, sceneNames(scenes))
	}
	scene := &scenes[i]
	r := &replay{}
	w := &worker{
		scene: scene, canon: newCanon(scene, maphash.MakeSeed()), a: newLeader(m, hand), b: newLeader(m, hand),
		coverage: newCoverage(m), known: func(Hash) bool { return false }, replay: r,
	}
	var out strings.Builder
	s.head(&out)
	state := scene.State()
	for n, wanted := range s.Steps {
		*r = replay{wanted: wanted}
		found := w.expand(state, w.canon.hash(state))
		if r.state == nil {
			return out.String(), breached, fmt.Errorf("step %d, %q, cannot be taken there; what can be is\n  %s", n+1, wanted, strings.Join(r.possible, "\n  "))
		}
		fmt.Fprintln(&out, stepMark+wanted)
		r.tell(&out)
		for _, b := range found.breaches {
			if b.step.String() == wanted {
				breached = true
				fmt.Fprintf(&out, "    BREACH: %s\n", b.what)
			}
		}
		state = r.state
	}
	back, stuck := w.back(state)
	if stuck {
		fmt.Fprintf(&out, "\n    BREACH: after %d more steps the cluster is not as it was\n", back)
		return out.String(), true, nil
	}
	fmt.Fprintf(&out, "\n    %d steps back to a clean cluster\n", back)
	return out.String(), breached, nil
}

func sceneNames(scenes []Scene) []string {
	var names []string
	for i := range scenes {
		names = append(names, scenes[i].Name)
	}
	return names
}

// back follows a fair world to a clean cluster, and counts its steps.
func (w *worker) back(from *State) (steps int, stuck bool) {
	for state := from; !w.scene.clean(state); steps++ {
		if state = w.fair(state); state == nil || steps == mostToReturn {
			return steps, true
		}
	}
	return steps, false
}

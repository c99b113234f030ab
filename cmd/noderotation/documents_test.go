// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"noderotation.io/noderotation"
)

var update = flag.Bool("update", false, "write what the commands say into the documents that show it")

// asCommand in the environment makes the test's binary the command itself, so that a shell can call it.
const asCommand = "NODEROTATION_AS_COMMAND"

func TestMain(m *testing.M) {
	if os.Getenv(asCommand) != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

// A document that shows what the commands say shows what they do say. In a `diff` fence stands an edit of a table, with
// the names of the old and the new file in its first two lines; transitions.yaml is the built-in table. In a `console`
// fence stand commands, each after "$ ", and what they write. `go test ./cmd/noderotation -run Documents -update` writes
// it anew.
func TestDocumentsShowWhatTheCommandsSay(t *testing.T) {
	for _, name := range []string{"changing-semantics.md"} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join("..", "..", "docs", name)
			content, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			shell := newShell(t)
			is := fences.ReplaceAllStringFunc(string(content), func(fence string) string {
				parts := fences.FindStringSubmatch(fence)
				if parts[1] == "diff" {
					if err := shell.apply(parts[2]); err != nil {
						t.Fatalf("%s: %v", name, err)
					}
					return fence
				}
				return "```console\n" + shell.session(parts[2]) + "```\n"
			})
			if *update {
				if err := os.WriteFile(file, []byte(is), 0o644); err != nil { //nolint:gosec // a document is for all to read
					t.Fatal(err)
				}
				return
			}
			if is != string(content) {
				t.Errorf("%s shows what the commands no longer say (-update writes it anew):\n%s", name, firstDifference(string(content), is))
			}
		})
	}
}

var fences = regexp.MustCompile("(?ms)^```(diff|console)\n((?:.*?\n)??)```\n")

// firstDifference has the first line in which two texts differ.
func firstDifference(was, is string) string {
	old, now := strings.Split(was, "\n"), strings.Split(is, "\n")
	for i := range min(len(old), len(now)) {
		if old[i] != now[i] {
			return fmt.Sprintf("line %d\n- %s\n+ %s", i+1, old[i], now[i])
		}
	}
	return fmt.Sprintf("%d lines, and now %d", len(old), len(now))
}

// shell runs what a document shows, in a directory of its own.
type shell struct {
	t         *testing.T
	directory string
	path      string
}

func newShell(t *testing.T) *shell {
	t.Helper()
	s := &shell{t: t, directory: t.TempDir(), path: t.TempDir()}
	binary, err := os.Executable()
	if err == nil {
		err = os.Symlink(binary, filepath.Join(s.path, "noderotation"))
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(s.directory, noderotation.TransitionsFile), noderotation.Transitions, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// apply makes the new file of an edit: the lines that stay or go must stand together in the old one, once.
func (s *shell) apply(diff string) error {
	lines := strings.SplitAfter(diff, "\n")
	old, isOld := strings.CutPrefix(lines[0], "--- ")
	made, isNew := strings.CutPrefix(lines[1], "+++ ")
	if !isOld || !isNew {
		return errors.New("a diff begins with the lines `--- OLD` and `+++ NEW`")
	}
	text, err := os.ReadFile(filepath.Join(s.directory, strings.TrimSpace(old)))
	if err != nil {
		return err
	}
	var was, is strings.Builder
	for _, line := range lines[2:] {
		switch {
		case strings.HasPrefix(line, " "):
			was.WriteString(line[1:])
			is.WriteString(line[1:])
		case strings.HasPrefix(line, "-"):
			was.WriteString(line[1:])
		case strings.HasPrefix(line, "+"):
			is.WriteString(line[1:])
		}
	}
	if n := strings.Count(string(text), was.String()); n != 1 {
		return fmt.Errorf("what the edit of %s changes stands there %d times, not once:\n%s", strings.TrimSpace(old), n, was.String())
	}
	changed := strings.Replace(string(text), was.String(), is.String(), 1)
	return os.WriteFile(filepath.Join(s.directory, strings.TrimSpace(made)), []byte(changed), 0o600)
}

// lasted is how long something took, which is different every time.
var lasted = regexp.MustCompile(` in \d[0-9hms.µ]*,`)

// session runs the commands of a console again, and writes it with what they say now.
func (s *shell) session(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		command, is := strings.CutPrefix(line, "$ ")
		if !is {
			continue
		}
		b.WriteString(line)
		run := exec.CommandContext(s.t.Context(), "sh", "-c", command)
		run.Dir = s.directory
		run.Env = append(os.Environ(), asCommand+"=1", "PATH="+s.path+string(os.PathListSeparator)+os.Getenv("PATH"))
		out, err := run.CombinedOutput()
		if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
			s.t.Fatal(err)
		}
		b.WriteString(lasted.ReplaceAllString(string(out), " in …,"))
	}
	return b.String()
}

// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"noderotation.io/noderotation"
)

// ended is what a command has written, and its exit status.
func ended(t *testing.T, args ...string) (string, int) {
	t.Helper()
	out, err := run(t, args...)
	var told strings.Builder
	status := exit(&told, product, err)
	return out + told.String(), status
}

func TestTableDiffTellsWhatAnEditMeans(t *testing.T) {
	g := NewWithT(t)
	file := edited(t, "  when: [deletion_timestamp]\n  do: [delete_placeholder, unfreeze, mark_expired", "  when: [deletion_timestamp, not ready_timeout_elapsed]\n  do: [delete_placeholder, unfreeze, mark_expired")
	out, status := ended(t, "table", "diff", "builtin", file)
	g.Expect(status).To(Equal(1))
	g.Expect(out).To(ContainSubstring("The meaning changes in pending. The new table breaks a law and would be refused.\n"))
	g.Expect(out).To(ContainSubstring("  pending-force-expired: other guards\n" +
		"    pending, when the claim is being deleted, no policy governs the pool and readyTimeout has elapsed: was pending-force-expired → expired, now pending-governance-lost → idle\n" +
		"    pending, when the claim is being deleted, a policy governs the pool and readyTimeout has elapsed: was pending-force-expired → expired, now pending-timed-out → failed\n"))
	g.Expect(out).To(ContainSubstring("breaks law force-expiry-first"))

	out, status = ended(t, "table", "diff", "builtin", file, "-o", "markdown")
	g.Expect(status).To(Equal(1))
	g.Expect(out).To(ContainSubstring("when the claim is being deleted, a policy governs the pool *and* readyTimeout has elapsed: was `pending-force-expired` → `expired`"))

	out, status = ended(t, "table", "diff", "builtin", file, "-o", "json")
	g.Expect(status).To(Equal(1))
	var d struct {
		Changed bool
		Edits   []struct{ Row string }
	}
	g.Expect(json.Unmarshal([]byte(out), &d)).To(Succeed())
	g.Expect(d.Changed).To(BeTrue())
	g.Expect(d.Edits[0].Row).To(Equal("pending-force-expired"))
}

// As with diff(1), 0 says that the meaning is the same, 1 that it is not, and 2 that nobody knows.
func TestTableDiffSaysByItsExitStatusWhetherTheMeaningChanges(t *testing.T) {
	g := NewWithT(t)
	out, status := ended(t, "table", "diff", "builtin", edited(t, "- id: drain\n", "- id: begin-drain\n"))
	g.Expect(status).To(Equal(0))
	g.Expect(out).To(ContainSubstring("The meaning is the same.\n\nNames\n  drain is now called begin-drain"))

	out, status = ended(t, "table", "diff", "builtin", written(t, "mine.yaml", "initial: idle\n"))
	g.Expect(status).To(Equal(2))
	g.Expect(out).To(ContainSubstring(`mine.yaml:1: key "states" is missing; a table needs it`))

	out, status = ended(t, "table", "diff", "builtin", "builtin", "-o", "xml")
	g.Expect(status).To(Equal(2))
	g.Expect(out).To(ContainSubstring(`--output is "xml"; set it to text, markdown or json`))
}

// repository is a directory with the built-in table, and git as it answers there.
func repository(t *testing.T, git func(args ...string) ([]byte, error)) tableSource {
	t.Helper()
	t.Chdir(t.TempDir())
	return tableSource{in: strings.NewReader(string(noderotation.Transitions)), git: func(_ context.Context, args ...string) ([]byte, error) { return git(args...) }}
}

func TestATableIsFoundByWhatAPersonCallsIt(t *testing.T) {
	g := NewWithT(t)
	var asked []string
	source := repository(t, func(args ...string) ([]byte, error) {
		asked = append(asked, strings.Join(args, " "))
		switch {
		case args[0] == "rev-parse":
			return []byte("/nowhere\n"), nil
		case strings.HasPrefix(args[2], "main:"):
			return noderotation.Transitions, nil
		}
		return nil, errors.New("git: fatal: invalid object name 'mian'")
	})
	g.Expect(os.WriteFile("feature", noderotation.Transitions, 0o600)).To(Succeed())
	for name, known := range map[string]string{
		"builtin": "builtin", "-": "standard input", "feature": "feature",
		"main": "main:transitions.yaml", "main:deploy/my.yaml": "main:deploy/my.yaml",
	} {
		table, err := source.named(t.Context(), name)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(table.Name).To(Equal(known))
	}
	g.Expect(asked).To(ConsistOf("show --end-of-options main:transitions.yaml", "show --end-of-options main:deploy/my.yaml"))

	_, err := source.named(t.Context(), "mian")
	g.Expect(err).To(MatchError(`"mian" is no file, and git has no mian:transitions.yaml here; name a file, a revision such as main or ` +
		`HEAD~1:transitions.yaml, "builtin" or "-": git: fatal: invalid object name 'mian'`))

	asked = nil
	for _, name := range []string{"nosuch.yaml", "deploy/nosuch.yml", "./nosuch", "../nosuch", "/nowhere/nosuch"} {
		_, err = source.named(t.Context(), name)
		g.Expect(err).To(MatchError("there is no file " + name + `; name a file, a revision such as main or HEAD~1:transitions.yaml, "builtin" or "-"`))
	}
	g.Expect(asked).To(BeEmpty())
	_, err = source.named(t.Context(), "release/1.0")
	g.Expect(err).To(MatchError(HavePrefix(`"release/1.0" is no file, and git has no release/1.0:transitions.yaml here`)))

	table, err := source.current(t.Context()) // the repository has none
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(table.Name).To(Equal("builtin"))
}

func TestTheTableInHandIsThatOfTheRepository(t *testing.T) {
	g := NewWithT(t)
	root := ""
	source := repository(t, func(...string) ([]byte, error) {
		if root == "" {
			return nil, errors.New("git: fatal: not a git repository")
		}
		return []byte(root + "\n"), nil
	})
	g.Expect(os.WriteFile("transitions.yaml", []byte("# mine\n"+string(noderotation.Transitions)), 0o600)).To(Succeed())
	table, err := source.current(t.Context()) // outside of a repository: that of the working directory
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(table.Name).To(Equal("transitions.yaml"))

	root = t.TempDir()
	g.Expect(os.WriteFile(filepath.Join(root, "transitions.yaml"), []byte(strings.Replace(string(noderotation.Transitions), "id: drain\n", "id: root\n", 1)), 0o600)).To(Succeed())
	table, err = source.current(t.Context())
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(table.Row("root")).NotTo(BeNil())
}

// On a machine with git the revision is read by git itself; on one without it a person is told so.
func TestARevisionIsReadByGit(t *testing.T) {
	g := NewWithT(t)
	t.Chdir(t.TempDir())
	source := newTableSource(strings.NewReader(""))
	if _, err := exec.LookPath("git"); err != nil {
		_, err := source.named(t.Context(), "HEAD")
		g.Expect(err).To(MatchError(exec.ErrNotFound))
		return
	}
	for _, args := range [][]string{
		{"init", "--quiet"},
		{"add", "transitions.yaml"},
		{"-c", "user.name=n", "-c", "user.email=n@example.com", "commit", "--quiet", "--no-gpg-sign", "-m", "The table"},
	} {
		g.Expect(os.WriteFile("transitions.yaml", noderotation.Transitions, 0o600)).To(Succeed())
		_, err := git(t.Context(), args...)
		g.Expect(err).NotTo(HaveOccurred())
	}
	changed := strings.Replace(string(noderotation.Transitions), "when: [frozen]", "when: [frozen, in_window]", 1)
	g.Expect(os.WriteFile("transitions.yaml", []byte(changed), 0o600)).To(Succeed())

	out, status := ended(t, "table", "diff", "HEAD")
	g.Expect(status).To(Equal(1))
	g.Expect(out).To(HavePrefix("HEAD:transitions.yaml → transitions.yaml\nThe meaning changes in pending."))
	out, status = ended(t, "table", "diff", "--", "--help")
	g.Expect(status).To(Equal(2))
	g.Expect(out).To(ContainSubstring(`"--help" is no file, and git has no --help:transitions.yaml here`))
}

func TestATableThatCannotBeReadIsSaidToBe(t *testing.T) {
	g := NewWithT(t)
	source := tableSource{in: io.MultiReader(strings.NewReader("initial"), failing{})}
	_, err := source.named(t.Context(), "-")
	g.Expect(err).To(MatchError("the table cannot be read from standard input: the pipe broke"))
	_, err = source.named(t.Context(), t.TempDir())
	g.Expect(err).To(MatchError(ContainSubstring("the table cannot be read: ")))
}

type failing struct{}

func (failing) Read([]byte) (int, error) { return 0, errors.New("the pipe broke") }

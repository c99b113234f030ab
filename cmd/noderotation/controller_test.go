// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"github.com/spf13/pflag"

	"noderotation.io/noderotation"
	"noderotation.io/noderotation/controller"
)

// run carries out the command line, and returns what it prints and the error that main would print.
func run(t *testing.T, args ...string) (string, error) {
	t.Helper()
	return runUntil(t.Context(), args...)
}

// runUntil does so until the context ends.
func runUntil(ctx context.Context, args ...string) (string, error) {
	var out strings.Builder
	root := newRoot() //nolint:contextcheck // a command takes the context that it is executed with
	root.SetArgs(args)
	root.SetOut(&out)
	root.SetErr(&out)
	err := root.ExecuteContext(ctx)
	return out.String(), err
}

func written(t *testing.T, name, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// A table that breaks a law refuses to start, and says which law, which row, which line; no cluster is needed for that.
func TestControllerRefusesATableThatBreaksALaw(t *testing.T) {
	g := NewWithT(t)
	table := strings.Replace(string(noderotation.Transitions), "when: [surge_ready, surge_settled]", "when: [in_window]", 1)
	path := written(t, "mine.yaml", table)
	before, _, _ := strings.Cut(table, "when: [in_window]")
	line := strings.Count(before, "\n") + 1

	_, err := run(t, "controller", "--transitions", path)
	g.Expect(err).To(MatchError(SatisfyAll(
		HavePrefix("the transition table is refused:\n"),
		ContainSubstring("%s:%d", path, line), ContainSubstring("surge-first"), ContainSubstring("drain"))))
}

func TestControllerSaysWhichTableItCannotRead(t *testing.T) {
	_, err := run(t, "controller", "--transitions", filepath.Join(t.TempDir(), "absent.yaml"))
	NewWithT(t).Expect(err).To(MatchError(SatisfyAll(HavePrefix("--transitions: "), ContainSubstring("absent.yaml"))))
}

// What is wrong with the flags is said before anything else is tried, with what to set instead.
func TestControllerRefusesBadFlags(t *testing.T) {
	for name, c := range map[string]struct {
		args []string
		says string
	}{
		"no passes":          {[]string{"--concurrent-passes", "0"}, "--concurrent-passes is 0; set it to 1 or more"},
		"no image":           {[]string{"--pause-image", ""}, "--pause-image is empty"},
		"a log level":        {[]string{"--log-level", "loud"}, `--log-level is "loud"; set it to debug, info or error`},
		"a log format":       {[]string{"--log-format", "xml"}, `--log-format is "xml"; set it to json or console`},
		"a duration":         {[]string{"--leader-elect-lease-duration", "soon"}, "--leader-elect-lease-duration"},
		"an unknown flag":    {[]string{"--transition", "x"}, "unknown flag: --transition"},
		"a stray argument":   {[]string{"now"}, `unknown command "now"`},
		"a kubeconfig":       {[]string{"--kubeconfig", "/nowhere/kubeconfig"}, "no cluster to talk to: run in a Pod, or name a kubeconfig"},
		"two wrongs at once": {[]string{"--concurrent-passes", "0", "--pause-image", ""}, "1 or more\n--pause-image"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := run(t, append([]string{"controller"}, c.args...)...)
			NewWithT(t).Expect(err).To(MatchError(ContainSubstring(c.says)))
		})
	}
}

// A cluster that is not there is a sentence from the preflight: the flags, the table and the kubeconfig were good.
func TestControllerSaysThatTheClusterDoesNotAnswer(t *testing.T) {
	kubeconfig := written(t, "kubeconfig", `
apiVersion: v1
kind: Config
current-context: here
contexts: [{name: here, context: {cluster: here, user: me}}]
clusters: [{name: here, cluster: {server: "http://127.0.0.1:1"}}]
users: [{name: me}]
`)
	_, err := run(t, "controller", "--kubeconfig", kubeconfig, "--log-level", "error")
	NewWithT(t).Expect(err).To(MatchError(SatisfyAll(HavePrefix("preflight: "), ContainSubstring("127.0.0.1:1"))))
}

func TestDefaults(t *testing.T) {
	g := NewWithT(t)
	flags := &controllerFlags{}
	flags.bind(pflag.NewFlagSet("controller", pflag.ContinueOnError))
	g.Expect(flags.check()).To(Succeed())
	g.Expect(flags.options).To(SatisfyAll(
		HaveField("LeaderElection", true), HaveField("DryRun", false), HaveField("LeaseDuration", 25*time.Second), HaveField("Passes", 4),
		HaveField("MetricsAddress", ":8080"), HaveField("ProbeAddress", ":8081"),
		HaveField("Settings.PriorityClass", "noderotation-placeholder")))
	g.Expect(flags.namespace()).NotTo(BeEmpty())
	g.Expect(flags.tableName()).To(Equal("built-in"))
}

// Who tries a dry run must know what it leaves alone, and that it does not play on.
func TestHelpSaysWhatADryRunDoes(t *testing.T) {
	out, err := run(t, "controller", "--help")
	g := NewWithT(t)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(out).To(SatisfyAll(ContainSubstring("writes nothing but its own lease, "+controller.RehearsalLeaseName),
		ContainSubstring("does not imagine what would come of its actions"), ContainSubstring("noderotation controller --dry-run")))
}

func TestHelpNamesTheCommands(t *testing.T) {
	out, err := run(t, "--help")
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	NewWithT(t).Expect(out).To(SatisfyAll(ContainSubstring("controller"), ContainSubstring("version")))
}

func TestVersion(t *testing.T) {
	out, err := run(t, "version")
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	NewWithT(t).Expect(strings.TrimSpace(out)).NotTo(BeEmpty())
}

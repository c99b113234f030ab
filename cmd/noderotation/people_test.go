// SPDX-License-Identifier: Apache-2.0

package main

import (
	"net/http/httptest"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
)

// What is wrong with the flags is said before a cluster is asked, with what to write instead.
func TestPeoplesCommandsRefuseBadFlags(t *testing.T) {
	elsewhere := written(t, "kubeconfig", `
apiVersion: v1
kind: Config
current-context: here
contexts: [{name: here, context: {cluster: here, user: me}}]
clusters: [{name: here, cluster: {server: "http://127.0.0.1:1"}}]
users: [{name: me}]
`)
	for name, c := range map[string]struct {
		args []string
		says string
	}{
		"an output":                {[]string{"status", "-o", "xml"}, `--output is "xml"; set it to table, wide, json, yaml`},
		"nothing to ask about":     {[]string{"why"}, "no NodePool, NodeClaim or Node is named: write one, such as noderotation why api"},
		"no history to tell":       {[]string{"history"}, "no NodePool is named: write one, such as noderotation history api"},
		"two names":                {[]string{"why", "api", "web"}, "2 names are given, and one is asked about at a time: api, web"},
		"nothing to hold":          {[]string{"freeze"}, "no NodePool is named: name one or more"},
		"nothing to give back":     {[]string{"unfreeze", "--kubeconfig", "/nowhere/kubeconfig"}, "no NodePool is named: name one or more"},
		"a table":                  {[]string{"status", "--transitions", "/nowhere/table.yaml"}, "--transitions: the table cannot be read"},
		"no end of a freeze":       {[]string{"freeze", "api"}, "say until when: --until with a time, or --for with a duration, and not both"},
		"two ends":                 {[]string{"freeze", "api", "--for", "1h", "--until", "2026-01-10"}, "and not both"},
		"a reason without an end":  {[]string{"freeze", "api", "--for", "1h", "--reason", strings.Repeat("x ", 150)}, "--reason has 299 characters; 200 are kept: shorten it"},
		"no pool to hold":          {[]string{"freeze", "--for", "1h", "--kubeconfig", elsewhere}, "name one or more, select some with --selector, or say --all"},
		"two ways to say which":    {[]string{"unfreeze", "api", "--all", "--kubeconfig", elsewhere}, "say one of the three"},
		"no kubeconfig":            {[]string{"status", "--kubeconfig", "/nowhere/kubeconfig"}, "no cluster to ask: name a kubeconfig"},
		"no such context":          {[]string{"status", "--kubeconfig", elsewhere, "--context", "there"}, `context "there" does not exist`},
		"a cluster that is silent": {[]string{"status", "--kubeconfig", elsewhere}, "the cluster does not answer"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := run(t, c.args...)
			NewWithT(t).Expect(err).To(MatchError(ContainSubstring(c.says)))
		})
	}
}

// client-go says of a kubeconfig that is not there only that there is none.
func TestAKubeconfigOfTheEnvironmentThatIsMissingIsNamed(t *testing.T) {
	t.Setenv("KUBECONFIG", "/nowhere/kubeconfig")
	t.Setenv("HOME", t.TempDir())
	for _, args := range [][]string{{"status"}, {"why", "api"}, {"simulate", "--from-cluster"}} {
		_, err := run(t, args...)
		NewWithT(t).Expect(err).To(MatchError(HaveSuffix(
			": $KUBECONFIG names /nowhere/kubeconfig, which does not exist; set it to a kubeconfig, or name one with --kubeconfig")), args[0])
	}
	there := written(t, "kubeconfig", "apiVersion: v1\nkind: Config\n")
	t.Setenv("KUBECONFIG", "/nowhere/kubeconfig:"+there)
	_, err := run(t, "status")
	NewWithT(t).Expect(err).To(MatchError(ContainSubstring("name a kubeconfig with --kubeconfig or $KUBECONFIG")))
}

// Whoever asks, and however deep it lies, it is said once.
func TestASilentClusterIsSpokenOfOnce(t *testing.T) {
	silent := httptest.NewServer(nil)
	silent.Close()
	kubeconfig := kubeconfigOf(t, silent.URL)
	for _, args := range [][]string{{"status"}, {"status", "web"}, {"why", "web"}, {"history", "web"}, {"freeze", "web", "--for", "1h"}, {"unfreeze", "web"}} {
		t.Run(strings.Join(args, " "), func(t *testing.T) {
			g := NewWithT(t)
			_, err := run(t, append(args, "--kubeconfig", kubeconfig)...)
			g.Expect(err).To(MatchError(ContainSubstring("the cluster does not answer")))
			g.Expect(strings.Count(err.Error(), "the cluster does not answer")).To(Equal(1), err.Error())
		})
	}
}

// A person sees in every text what is to be typed.
func TestCommandName(t *testing.T) {
	for executable, name := range map[string]string{
		"noderotation": "noderotation", "/usr/bin/kubectl-rotation": "kubectl rotation", "kubectl-rotation.exe": "kubectl rotation",
		"kubectl-node_rotation": "kubectl node-rotation", "kubectl-": "noderotation", "/x/other": "noderotation",
	} {
		NewWithT(t).Expect(commandName(executable)).To(Equal(name), executable)
	}
}

func TestEveryPeoplesCommandShowsAnExample(t *testing.T) {
	g := NewWithT(t)
	root := calledAs(newRoot(), "kubectl rotation")
	for _, name := range []string{"status", "why", "freeze", "unfreeze", "history"} {
		cmd, _, err := root.Find([]string{name})
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(cmd.Example).To(ContainSubstring("  kubectl rotation "+name), name)
		g.Expect(cmd.Example).NotTo(ContainSubstring(product), name)
		g.Expect(cmd.UseLine()).To(HavePrefix("kubectl rotation " + name))
	}
}

func TestCompletionOfAPlugin(t *testing.T) {
	g := NewWithT(t)
	out, err := run(t, "completion", "kubectl")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(out).To(SatisfyAll(HavePrefix("#!/bin/sh\n"), HaveSuffix("exec kubectl-rotation __complete \"$@\"\n")))
	out, err = run(t, "__complete", "status", "-o", "")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(out).To(HavePrefix("table\nwide\njson\nyaml\n"))
}

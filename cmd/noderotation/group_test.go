// SPDX-License-Identifier: Apache-2.0

package main

import (
	"io"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
)

// A slip of the finger in a pipeline is no success.
func TestAnUnknownCommandIsRefused(t *testing.T) {
	for line, says := range map[string]string{
		"statsu":            `unknown command "statsu" for "noderotation": did you mean status?`,
		"sim":               `unknown command "sim" for "noderotation": did you mean simulate?`,
		"table lnt my.yaml": `unknown command "lnt" for "noderotation table": did you mean lint?`,
		"table audit":       `unknown command "audit" for "noderotation table": it has diff, explore, graph, lint, show, test`,
		"completion bsh":    `unknown command "bsh" for "noderotation completion": did you mean bash or fish or zsh?`,
		"help statsu":       `unknown command "statsu" for "noderotation": did you mean status?`,
		"help table lnt":    `unknown command "lnt" for "noderotation table": did you mean lint?`,
	} {
		t.Run(line, func(t *testing.T) {
			g := NewWithT(t)
			out, err := run(t, strings.Fields(line)...)
			g.Expect(err).To(MatchError(says))
			g.Expect(exit(io.Discard, product, err)).To(Equal(1))
			g.Expect(out).To(BeEmpty())
		})
	}
}

func TestACommandThatOnlyHoldsOthersShowsThem(t *testing.T) {
	for line, shows := range map[string]string{
		"": "  noderotation [command]\n", "table": "  noderotation table [command]\n", "help": "  noderotation [command]\n",
		"help table": "  noderotation table [command]\n", "help table lint": "  noderotation table lint ",
	} {
		t.Run(line, func(t *testing.T) {
			out, err := run(t, strings.Fields(line)...)
			NewWithT(t).Expect(err).NotTo(HaveOccurred())
			NewWithT(t).Expect(out).To(ContainSubstring(shows))
		})
	}
}

func TestTheVersionIsACommandAndAFlag(t *testing.T) {
	g := NewWithT(t)
	command, err := run(t, "version")
	g.Expect(err).NotTo(HaveOccurred())
	flag, err := run(t, "--version")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(flag).To(Equal(command))
}

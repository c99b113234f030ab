// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
)

// product is the name of the binary, and of the command in every help text.
const product = "noderotation"

// commandName is what a person types to run this binary: installed as kubectl-rotation it is `kubectl rotation`, and an
// underscore of a plugin's name stands for a dash.
func commandName(executable string) string {
	base := strings.TrimSuffix(filepath.Base(executable), ".exe")
	plugin, is := strings.CutPrefix(base, "kubectl-")
	if !is || plugin == "" {
		return product
	}
	return "kubectl " + strings.ReplaceAll(strings.ReplaceAll(plugin, "-", " "), "_", "-")
}

// calledAs has usage, help and examples show what a person types.
func calledAs(root *cobra.Command, name string) *cobra.Command {
	if name == product {
		return root
	}
	root.Annotations = map[string]string{cobra.CommandDisplayNameAnnotation: name}
	for _, cmd := range everyCommand(root) {
		cmd.Example = strings.ReplaceAll(cmd.Example, product+" ", name+" ")
	}
	return root
}

func everyCommand(cmd *cobra.Command) []*cobra.Command {
	all := []*cobra.Command{cmd}
	for _, sub := range cmd.Commands() {
		all = append(all, everyCommand(sub)...)
	}
	return all
}

// pluginCompletion is what kubectl asks for the completion of a plugin's command line.
const pluginCompletion = `#!/bin/sh
# Completion of "kubectl rotation": install it as kubectl_complete-rotation on the PATH, beside kubectl-rotation.
exec kubectl-rotation __complete "$@"
`

// addPluginCompletion has `completion kubectl` print the script beside those of the shells.
func addPluginCompletion(root *cobra.Command) {
	root.InitDefaultCompletionCmd()
	for _, cmd := range root.Commands() {
		if cmd.Name() != "completion" {
			continue
		}
		cmd.AddCommand(&cobra.Command{
			Use:     "kubectl",
			Short:   "Print the script by which kubectl completes `kubectl rotation`",
			Example: "  noderotation completion kubectl > /usr/local/bin/kubectl_complete-rotation\n  chmod +x /usr/local/bin/kubectl_complete-rotation",
			Args:    cobra.NoArgs,
			RunE: func(cmd *cobra.Command, _ []string) error {
				_, err := fmt.Fprint(cmd.OutOrStdout(), pluginCompletion)
				return err
			},
		})
	}
}

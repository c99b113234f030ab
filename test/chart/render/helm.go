// SPDX-License-Identifier: Apache-2.0

// Package render has Helm render the chart, and decodes what comes of it.
package render

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
)

// Release and Namespace are what the chart is rendered for.
const (
	Release   = "noderotation"
	Namespace = "noderotation-system"
)

// Root is the folder of the repository.
func Root() string {
	_, here, _, _ := runtime.Caller(0)
	return filepath.Join(filepath.Dir(here), "..", "..", "..")
}

// Chart is the folder of the chart.
func Chart() string { return filepath.Join(Root(), "charts", "noderotation") }

// Helm runs helm with the arguments and returns its standard output. The error holds what helm said.
func Helm(ctx context.Context, arguments ...string) ([]byte, error) {
	command := exec.CommandContext(ctx, "go", append([]string{"tool", "-modfile=" + filepath.Join(Root(), "tools", "helm", "go.mod"), "helm"}, arguments...)...)
	if helm := os.Getenv("HELM"); helm != "" {
		command = exec.CommandContext(ctx, helm, arguments...)
	}
	command.Dir, command.Env = Root(), append(os.Environ(), "CGO_ENABLED=0")
	var said bytes.Buffer
	command.Stderr = &said
	output, err := command.Output()
	if err != nil {
		return output, fmt.Errorf("helm %s: %w\n%s%s", strings.Join(arguments, " "), err, said.String(), output)
	}
	return output, nil
}

// Template renders the chart with these further arguments, such as --values and --set.
func Template(ctx context.Context, arguments ...string) (Objects, error) {
	return TemplateOf(ctx, Release, Namespace, arguments...)
}

// TemplateOf does so for another release.
func TemplateOf(ctx context.Context, release, namespace string, arguments ...string) (Objects, error) {
	output, err := Helm(ctx, append([]string{"template", release, Chart(), "--namespace", namespace}, arguments...)...)
	if err != nil {
		return nil, err
	}
	return Decode(output)
}

// SPDX-License-Identifier: Apache-2.0

// Package manifests holds what an operator installs beside the controller, as the chart renders it: its identity, what that
// may do, the placeholder's PriorityClass, and the policy that keeps others from writing its bookkeeping.
package manifests

import (
	_ "embed" // the manifests themselves
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
)

// Where the controller lives, and who it is.
const (
	Namespace = "noderotation-system"
	User      = "system:serviceaccount:" + Namespace + ":noderotation"
)

var (
	//go:embed namespace.yaml
	namespace []byte
	// install is rendered from the chart by `make generate`.
	//go:embed install.yaml
	install []byte
)

// Chart is the folder of the chart.
func Chart() string {
	_, here, _, _ := runtime.Caller(0)
	return filepath.Join(filepath.Dir(here), "..", "..", "..", "charts", "noderotation")
}

// Installed returns what the chart renders, without Deployment and CRD.
func Installed() []byte { return slices.Clone(install) }

// All returns everything to be applied before the controller starts, the CRD of RotationPolicy first.
func All() ([]byte, error) {
	files, err := filepath.Glob(filepath.Join(Chart(), "crds", "*.yaml"))
	if err != nil || len(files) == 0 {
		return nil, fmt.Errorf("the chart has no CRD: %w", err)
	}
	const between = "\n---\n"
	var all []byte
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("the CRD cannot be read: %w", err)
		}
		all = append(append(all, content...), between...)
	}
	return slices.Concat(all, namespace, []byte(between), install), nil
}

// SPDX-License-Identifier: Apache-2.0

// Package manifests holds what an operator installs beside the controller: its namespace, its identity, what that may do,
// and the placeholder's PriorityClass.
package manifests

import (
	_ "embed" // the manifests themselves
	"fmt"
	"os"
	"path/filepath"
	"runtime"
)

// Where the controller lives, and who it is.
const (
	Namespace = "noderotation-system"
	User      = "system:serviceaccount:" + Namespace + ":noderotation"
)

//go:embed install.yaml
var install []byte

// All returns everything to be applied before the controller starts, the CRD of RotationPolicy first.
func All() ([]byte, error) {
	_, here, _, _ := runtime.Caller(0)
	files, err := filepath.Glob(filepath.Join(filepath.Dir(here), "..", "..", "..", "charts", "noderotation", "crds", "*.yaml"))
	if err != nil || len(files) == 0 {
		return nil, fmt.Errorf("the chart has no CRD: %w", err)
	}
	var all []byte
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("the CRD cannot be read: %w", err)
		}
		all = append(append(all, content...), "\n---\n"...)
	}
	return append(all, install...), nil
}

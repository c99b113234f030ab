// SPDX-License-Identifier: Apache-2.0

package process

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
)

// helmVariable names a helm to run in place of the tools module's.
const helmVariable = "HELM"

// Helm runs helm against the cluster of a kubeconfig, and returns what it says. Nothing of the user's own helm is read or
// written: it keeps its files in folder.
func Helm(ctx context.Context, kubeconfig, folder string, arguments ...string) (said string, err error) {
	_, here, _, _ := runtime.Caller(0)
	tools := filepath.Join(filepath.Dir(here), "..", "..", "..", "tools", "helm", "go.mod")
	command := exec.CommandContext(ctx, "go", append([]string{"tool", "-modfile=" + tools, "helm"}, arguments...)...)
	if helm := os.Getenv(helmVariable); helm != "" {
		command = exec.CommandContext(ctx, helm, arguments...)
	}
	command.Dir = filepath.Dir(here)
	command.Env = append(os.Environ(), "CGO_ENABLED=0", "KUBECONFIG="+kubeconfig,
		"HELM_CACHE_HOME="+folder, "HELM_CONFIG_HOME="+folder, "HELM_DATA_HOME="+folder)
	output, err := command.CombinedOutput()
	if err != nil {
		return string(output), fmt.Errorf("helm %s: %w\n%s", strings.Join(arguments, " "), err, output)
	}
	return string(output), nil
}

// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Karpenter's operator opens its metrics and its health probes on every interface of the machine, and has no setting for
// the address. A cluster that tests start is nobody's business but theirs: Karpenter is compiled from a copy of its module
// in which these two addresses are the loopback's, and nothing else differs.
const (
	karpenterModule   = "sigs.k8s.io/karpenter"
	karpenterOperator = "pkg/operator/operator.go"
	everyInterface    = `fmt.Sprintf(":%d", `
	loopbackOnly      = `fmt.Sprintf("127.0.0.1:%d", `
	openedPorts       = 2
)

// keepOnLoopback copies Karpenter's module into folder and returns the file to hand to the Go compiler as -modfile, by
// which source is built with the copy. The error says when this Karpenter is not the one that was looked at.
func keepOnLoopback(ctx context.Context, source, folder string) (modfile string, err error) {
	karpenter := filepath.Join(folder, "karpenter")
	if err := copyKarpenter(ctx, source, karpenter); err != nil {
		return "", err
	}
	if err := listenOnLoopback(filepath.Join(karpenter, filepath.FromSlash(karpenterOperator))); err != nil {
		return "", err
	}
	modfile = filepath.Join(folder, "loopback.mod")
	for from, to := range map[string]string{"go.mod": modfile, "go.sum": filepath.Join(folder, "loopback.sum")} {
		content, err := os.ReadFile(filepath.Join(source, from))
		if err == nil {
			err = os.WriteFile(to, content, 0o644)
		}
		if err != nil {
			return "", fmt.Errorf("the modules of the control plane cannot be copied: %w", err)
		}
	}
	replace := "-replace=" + karpenterModule + "=" + karpenter
	if output, err := goCommand(ctx, source, "mod", "edit", replace, modfile).CombinedOutput(); err != nil {
		return "", fmt.Errorf("the copy of Karpenter cannot take the place of its module: %w\n%s", err, output)
	}
	return modfile, nil
}

// copyKarpenter copies the module to folder, which is emptied before. What is downloaded already is only named.
func copyKarpenter(ctx context.Context, source, folder string) error {
	download, err := goCommand(ctx, source, "mod", "download", "-json", karpenterModule).Output()
	if err != nil {
		return fmt.Errorf("%s cannot be downloaded: %w", karpenterModule, err)
	}
	var module struct{ Dir string }
	if err := json.Unmarshal(download, &module); err != nil {
		return fmt.Errorf("where %s was downloaded to cannot be told: %w", karpenterModule, err)
	}
	if err := errors.Join(os.RemoveAll(folder), os.CopyFS(folder, os.DirFS(module.Dir))); err != nil {
		return fmt.Errorf("%s cannot be copied: %w", karpenterModule, err)
	}
	return nil
}

func listenOnLoopback(operator string) error {
	text, err := os.ReadFile(operator)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("this release of Karpenter has no %s: see what it listens on, and correct loopback.go", karpenterOperator)
	}
	if err != nil {
		return fmt.Errorf("the source of Karpenter's operator cannot be read: %w", err)
	}
	if found := strings.Count(string(text), everyInterface); found != openedPorts {
		return fmt.Errorf("%s opens %d ports by `%s`, not %d: see what this release of Karpenter listens on, and correct loopback.go",
			operator, found, everyInterface, openedPorts)
	}
	if err := os.WriteFile(operator, []byte(strings.ReplaceAll(string(text), everyInterface, loopbackOnly)), 0o644); err != nil {
		return fmt.Errorf("Karpenter's operator cannot be kept on the loopback: %w", err)
	}
	return nil
}

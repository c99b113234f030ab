// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"time"
)

const (
	binaryName = "clusterbin"

	// progressInterval is how often a build under way says how far it is.
	progressInterval = 20 * time.Second
	// lockInterval is how often a build tries again for the lock that another one holds.
	lockInterval = 200 * time.Millisecond
)

// Build compiles the control plane unless that has been done already, and returns the path of the executable.
//
// The first build on a machine takes many minutes; what is being done, and for how long, goes to log every now and then.
// Two processes never build at once: the second waits and then finds the work done. The executable lies in a folder of
// the repository that git ignores, under a key made of everything that goes into it.
func Build(ctx context.Context, log io.Writer) (binary string, err error) {
	source, err := sourceFolder()
	if err != nil {
		return "", err
	}
	key, err := buildKey(source)
	if err != nil {
		return "", err
	}
	cache := filepath.Join(filepath.Dir(filepath.Dir(filepath.Dir(source))), ".cache", "cluster")
	folder := filepath.Join(cache, key)
	binary = filepath.Join(folder, binaryName)
	if built(binary) {
		return binary, nil
	}
	if err = os.MkdirAll(folder, 0o755); err != nil {
		return "", fmt.Errorf("no folder for the control plane's executable: %w", err)
	}
	unlock, err := lock(ctx, filepath.Join(cache, "lock"), log)
	if err != nil {
		return "", err
	}
	defer unlock()
	if built(binary) {
		return binary, nil
	}
	if err := compile(ctx, source, binary, log); err != nil {
		return "", err
	}
	return binary, linkParts(folder)
}

// EnvtestAssets builds the control plane if need be and returns the folder to set KUBEBUILDER_ASSETS to.
func EnvtestAssets(ctx context.Context, log io.Writer) (folder string, err error) {
	binary, err := Build(ctx, log)
	if err != nil {
		return "", err
	}
	return filepath.Dir(binary), nil
}

// sourceFolder returns the folder of module clusterbin, which lies beside this file.
func sourceFolder() (string, error) {
	_, here, _, known := runtime.Caller(0)
	folder := filepath.Join(filepath.Dir(here), binaryName)
	if _, err := os.Stat(filepath.Join(folder, "go.mod")); !known || err != nil {
		return "", fmt.Errorf("the sources of the control plane are not in %q: build this program in a checkout of the repository, and without -trimpath", folder)
	}
	return folder, nil
}

// built reports whether the executable is there in full: it gets its name only once it is complete.
func built(binary string) bool {
	info, err := os.Stat(binary)
	return err == nil && info.Mode().IsRegular()
}

// compile runs the Go compiler, tells log how far it is, and puts the executable into its place in one step.
func compile(ctx context.Context, source, binary string, log io.Writer) error {
	begun := time.Now()
	_, _ = fmt.Fprintf(log, "cluster: building etcd, Kubernetes, kwok and Karpenter from Go modules; the first time this takes 15 to 30 minutes on two cores\n")

	flags, err := linkFlags(ctx, source)
	if err != nil {
		return err
	}
	modfile, err := keepOnLoopback(ctx, source, filepath.Dir(binary))
	if err != nil {
		return err
	}
	partial := binary + ".partial"
	command := goCommand(ctx, source, "build", "-v", "-buildvcs=false", "-modfile="+modfile, "-ldflags="+flags, "-o", partial, ".")
	output, err := command.StderrPipe()
	if err != nil {
		return fmt.Errorf("the Go compiler cannot be run: %w", err)
	}
	if err = command.Start(); err != nil {
		return fmt.Errorf("the Go compiler cannot be run, is `go` installed? %w", err)
	}
	counter := &packageCounter{total: countPackages(ctx, source)}
	stop := counter.report(log, begun)
	complaints := counter.read(output)
	err = command.Wait()
	stop()
	if err != nil {
		return fmt.Errorf("the control plane does not build: %w\n%s", err, complaints)
	}
	if err := os.Rename(partial, binary); err != nil {
		return fmt.Errorf("the built control plane cannot be put into its place: %w", err)
	}
	_, _ = fmt.Fprintf(log, "cluster: built in %s\n", time.Since(begun).Round(time.Second))
	return nil
}

// goCommand returns a run of the go command in source. Without cgo no C compiler is needed; a workspace, or flags meant
// for the caller's module, would only disturb.
func goCommand(ctx context.Context, source string, args ...string) *exec.Cmd {
	command := exec.CommandContext(ctx, "go", args...)
	command.Dir = source
	command.Env = append(os.Environ(), "CGO_ENABLED=0", "GOWORK=off", "GOFLAGS=")
	return command
}

// versionVariables are the variables through which a part learns its own version, by the module that has it. Left alone,
// the API server would call itself v0.0.0, which clients that ask for a minimum take at its word.
var versionVariables = map[string]string{
	"k8s.io/kubernetes":     "k8s.io/component-base/version.gitVersion",
	"sigs.k8s.io/karpenter": "sigs.k8s.io/karpenter/pkg/operator.Version",
	"sigs.k8s.io/kwok":      "sigs.k8s.io/kwok/pkg/consts.Version",
}

// linkFlags returns what to tell the linker: leave out what only debuggers read, and set the versions.
func linkFlags(ctx context.Context, source string) (string, error) {
	flags := []string{"-s", "-w"}
	for _, module := range slices.Sorted(maps.Keys(versionVariables)) {
		version, err := goCommand(ctx, source, "list", "-m", "-f", "{{.Version}}", module).Output()
		if err != nil {
			return "", fmt.Errorf("the version of %s cannot be told, is `go` installed? %w", module, err)
		}
		flags = append(flags, "-X", versionVariables[module]+"="+strings.TrimSpace(string(version)))
	}
	return strings.Join(flags, " "), nil
}

// countPackages returns how many packages the executable consists of, or 0 if that cannot be told.
func countPackages(ctx context.Context, source string) int {
	list, err := goCommand(ctx, source, "list", "-deps", ".").Output()
	if err != nil {
		return 0
	}
	return bytes.Count(list, []byte("\n"))
}

// packageCounter counts the packages that `go build -v` names as it comes to them.
type packageCounter struct {
	total int
	seen  atomic.Int64
}

// read counts until output ends and returns every line that is not the name of a package.
func (c *packageCounter) read(output io.Reader) (complaints string) {
	var other strings.Builder
	for lines := bufio.NewScanner(output); lines.Scan(); {
		if line := lines.Text(); strings.ContainsAny(line, " :#") {
			other.WriteString(line + "\n")
		} else {
			c.seen.Add(1)
		}
	}
	return other.String()
}

// report writes a line at every interval until the function it returns is called.
func (c *packageCounter) report(log io.Writer, begun time.Time) (stop func()) {
	ticker := time.NewTicker(progressInterval)
	done := make(chan struct{})
	go func() {
		for {
			select {
			case <-done:
				return
			case <-ticker.C:
				_, _ = fmt.Fprintf(log, "cluster: still building, %d packages compiled of at most %d, %s so far\n",
					c.seen.Load(), c.total, time.Since(begun).Round(time.Second))
			}
		}
	}()
	return func() {
		ticker.Stop()
		close(done)
	}
}

// linkParts gives the executable, under the names envtest and people look for, its other names.
func linkParts(folder string) error {
	for _, part := range []string{"etcd", "kube-apiserver"} {
		if err := os.Symlink(binaryName, filepath.Join(folder, part)); err != nil && !errors.Is(err, os.ErrExist) {
			return fmt.Errorf("the control plane cannot be given the name %s: %w", part, err)
		}
	}
	return nil
}

// lock takes the exclusive lock on the file, waiting for whoever holds it. The kernel lets go of it when its holder dies.
func lock(ctx context.Context, path string, log io.Writer) (unlock func(), err error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, fmt.Errorf("no lock for building the control plane: %w", err)
	}
	ticker := time.NewTicker(lockInterval)
	defer ticker.Stop()
	for told := false; ; told = true {
		err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil {
			return func() { _ = file.Close() }, nil
		}
		if !errors.Is(err, syscall.EWOULDBLOCK) {
			_ = file.Close()
			return nil, fmt.Errorf("the lock %s cannot be taken: %w", path, err)
		}
		if !told {
			_, _ = fmt.Fprintln(log, "cluster: another process is building the control plane, waiting for it")
		}
		select {
		case <-ctx.Done():
			_ = file.Close()
			return nil, fmt.Errorf("gave up waiting for another build of the control plane: %w", ctx.Err())
		case <-ticker.C:
		}
	}
}

// SPDX-License-Identifier: Apache-2.0

package process

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"syscall"
	"time"
)

const (
	// readinessInterval is how often a starting controller is asked whether it is ready.
	readinessInterval = 50 * time.Millisecond
	// stopTimeout is how long a controller may take to end in good order.
	stopTimeout = 20 * time.Second
)

// Build compiles the product into folder and returns the path of its binary.
func Build(ctx context.Context, folder string) (binary string, err error) {
	_, here, _, _ := runtime.Caller(0)
	root := filepath.Join(filepath.Dir(here), "..", "..", "..")
	binary = filepath.Join(folder, "noderotation")
	command := exec.CommandContext(ctx, "go", "build", "-o", binary, "./cmd/noderotation")
	command.Dir = root
	command.Env = append(os.Environ(), "CGO_ENABLED=0", "GOWORK=off")
	if output, err := command.CombinedOutput(); err != nil {
		return "", fmt.Errorf("the product does not build: %w\n%s", err, output)
	}
	return binary, nil
}

// Options say how to run a controller.
type Options struct {
	Binary     string
	Kubeconfig string
	Namespace  string
	Log        string // file that standard output and error are appended to
	// LeaderElection makes it wait for its lease, which a killed leader holds for a while more.
	LeaderElection bool
	Flags          []string // further ones
	Env            []string // NAME=VALUE, beside this process's own
}

func (o Options) arguments(probe, metrics string) []string {
	return append([]string{
		"controller", "--kubeconfig=" + o.Kubeconfig, "--namespace=" + o.Namespace,
		"--health-probe-bind-address=" + probe, "--metrics-bind-address=" + metrics,
		fmt.Sprintf("--leader-elect=%t", o.LeaderElection),
	}, o.Flags...)
}

// Controller is one running process.
type Controller struct {
	command *exec.Cmd
	probe   string
	metrics string
	ended   chan struct{}
	unasked atomic.Bool // true until we end it ourselves
	state   string      // read it only after ended is closed
}

// Start runs a controller and returns when it says that it is ready: its caches are filled. It may not lead yet.
func Start(ctx context.Context, options Options) (*Controller, error) {
	ports, err := freeAddresses(2)
	if err != nil {
		return nil, err
	}
	output, err := os.OpenFile(options.Log, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return nil, fmt.Errorf("no log file for the controller: %w", err)
	}
	defer func() { _ = output.Close() }() // the child has its own copy
	c := &Controller{
		command: exec.Command(options.Binary, options.arguments(ports[0], ports[1])...),
		probe:   ports[0], metrics: ports[1], ended: make(chan struct{}),
	}
	c.command.Stdout, c.command.Stderr = output, output
	c.command.Env = append(os.Environ(), options.Env...)
	c.command.SysProcAttr = childAttributes()
	c.unasked.Store(true)
	if err := c.launch(); err != nil {
		return nil, fmt.Errorf("the controller cannot be started: %w", err)
	}
	if err := c.awaitReady(ctx); err != nil {
		c.Kill()
		return nil, fmt.Errorf("%w; its log is %s", err, options.Log)
	}
	return c, nil
}

// launch starts the process and waits for its end on a thread of its own: the kernel ends the process with the thread
// that started it.
func (c *Controller) launch() error {
	started := make(chan error)
	go func() {
		runtime.LockOSThread()
		err := c.command.Start()
		started <- err
		if err != nil {
			return
		}
		_ = c.command.Wait()
		c.state = c.command.ProcessState.String()
		close(c.ended)
	}()
	return <-started
}

func (c *Controller) awaitReady(ctx context.Context) error {
	ticker := time.NewTicker(readinessInterval)
	defer ticker.Stop()
	for !c.ready(ctx) {
		select {
		case <-ctx.Done():
			return fmt.Errorf("the controller did not become ready: %w", context.Cause(ctx))
		case <-c.ended:
			return fmt.Errorf("the controller ended before it was ready: %s", c.state)
		case <-ticker.C:
		}
	}
	return nil
}

func (c *Controller) ready(ctx context.Context) bool {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+c.probe+"/readyz", http.NoBody)
	if err != nil {
		return false
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return false
	}
	_ = answer.Body.Close()
	return answer.StatusCode == http.StatusOK
}

// MetricsURL is where the controller serves its metrics.
func (c *Controller) MetricsURL() string { return "http://" + c.metrics + "/metrics" }

// Ended is closed when the process is gone.
func (c *Controller) Ended() <-chan struct{} { return c.ended }

// Running tells whether the process lives.
func (c *Controller) Running() bool {
	select {
	case <-c.ended:
		return false
	default:
		return true
	}
}

// Stop asks the controller to end and returns when it has. An end with an error, or none in good time, is an error.
func (c *Controller) Stop() error {
	c.unasked.Store(false)
	if err := c.command.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("the controller cannot be asked to end: %w", err)
	}
	timer := time.NewTimer(stopTimeout)
	defer timer.Stop()
	select {
	case <-c.ended:
	case <-timer.C:
		c.Kill()
		return fmt.Errorf("the controller did not end within %s of being asked to", stopTimeout)
	}
	if !c.command.ProcessState.Success() && !strings.Contains(c.state, "killed") {
		return fmt.Errorf("the controller ended badly: %s", c.state)
	}
	return nil
}

// Kill ends the process as kill -9 does, and returns when it is gone.
func (c *Controller) Kill() {
	c.unasked.Store(false)
	_ = c.command.Process.Kill()
	<-c.ended
}

// Died says that the process ended by itself; nil if it lives, or if we ended it.
func (c *Controller) Died() error {
	if c.Running() || !c.unasked.Load() {
		return nil
	}
	return fmt.Errorf("the controller ended by itself: %s", c.state)
}

// freeAddresses are addresses on 127.0.0.1 that nobody listens on.
func freeAddresses(n int) ([]string, error) {
	var addresses []string
	var listeners []net.Listener // all are held until the last is found: no two are the same
	defer func() {
		for _, listener := range listeners {
			_ = listener.Close()
		}
	}()
	for len(addresses) < n {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, fmt.Errorf("no free port on 127.0.0.1: %w", err)
		}
		listeners = append(listeners, listener)
		addresses = append(addresses, listener.Addr().String())
	}
	return addresses, nil
}

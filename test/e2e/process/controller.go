// SPDX-License-Identifier: Apache-2.0

package process

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
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
	// startAttempts is how often Start tries because somebody took one of the ports.
	startAttempts = 3
	// killed is how the end of a process reads that a kill -9 has ended.
	killed = "killed"
)

// errPortTaken means that the controller found a port in use that was free a moment before.
var errPortTaken = errors.New("a port was taken by somebody else")

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
//
// The ports that it is given were free when they were looked for. If somebody has taken one of them since, it is given
// others.
func Start(ctx context.Context, options Options) (*Controller, error) {
	for attempt := 1; ; attempt++ {
		c, err := startOnce(ctx, options)
		if err == nil || attempt == startAttempts || !errors.Is(err, errPortTaken) {
			return c, err
		}
	}
}

// startOnce is one attempt of Start. One that fails for want of a port leaves nothing in the log.
func startOnce(ctx context.Context, options Options) (*Controller, error) {
	ports, err := freeAddresses(2)
	if err != nil {
		return nil, err
	}
	output, err := os.OpenFile(options.Log, os.O_CREATE|os.O_RDWR|os.O_APPEND, 0o644)
	if err != nil {
		return nil, fmt.Errorf("no log file for the controller: %w", err)
	}
	defer func() { _ = output.Close() }() // the child has its own copy
	before, err := output.Seek(0, io.SeekEnd)
	if err != nil {
		return nil, fmt.Errorf("the controller's log has no end: %w", err)
	}
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
		_ = c.Kill() // how it ended is part of err
		if portTaken(output, before) {
			return nil, errors.Join(err, errPortTaken, output.Truncate(before))
		}
		return nil, fmt.Errorf("%w; its log is %s", err, options.Log)
	}
	return c, nil
}

// portTaken tells whether what the log says from an offset on is that a port is in use.
func portTaken(log *os.File, from int64) bool {
	said, err := io.ReadAll(io.NewSectionReader(log, from, math.MaxInt64-from))
	return err == nil && bytes.Contains(said, []byte("address already in use"))
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

// Stop asks the controller to end and returns when it has. An end with an error, or none in good time, is an error, and so
// is one that came by itself before.
func (c *Controller) Stop() error {
	if died := c.Died(); died != nil {
		return died
	}
	c.unasked.Store(false)
	if err := c.command.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("the controller cannot be asked to end: %w", err)
	}
	timer := time.NewTimer(stopTimeout)
	defer timer.Stop()
	select {
	case <-c.ended:
	case <-timer.C:
		_ = c.Kill() // it was asked to end
		return fmt.Errorf("the controller did not end within %s of being asked to", stopTimeout)
	}
	if !c.command.ProcessState.Success() && !strings.Contains(c.state, killed) {
		return fmt.Errorf("the controller ended badly: %s", c.state)
	}
	return nil
}

// Kill ends the process as kill -9 does, and returns when it is gone. A process that had ended by itself, even an instant
// before, is an error: what looks like our doing was its own.
func (c *Controller) Kill() error {
	if died := c.Died(); died != nil {
		return died
	}
	unasked := c.unasked.Swap(false)
	_ = c.command.Process.Kill()
	<-c.ended
	if unasked && !strings.Contains(c.state, killed) {
		c.unasked.Store(true)
	}
	return c.Died()
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

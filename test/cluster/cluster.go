// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"time"

	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
)

const (
	// startTimeout bounds a start whose context has no deadline of its own.
	startTimeout = 3 * time.Minute
	// startAttempts is how often Start tries again because somebody took one of its ports.
	startAttempts = 3
)

// Options say what kind of cluster to start. The zero value is a whole one in a temporary folder.
type Options struct {
	Name             string    // stands in messages and in the name of the temporary folder; "cluster" if empty
	Dir              string    // for the logs, keys and data; kept. A temporary folder, removed at the end, if empty
	Log              io.Writer // where progress and unexpected ends are told; nowhere if nil
	WithoutKarpenter bool      // no Karpenter, only its definitions; StartKarpenter may follow
	WithoutKwok      bool      // Nodes never become ready and Pods never run
}

// Cluster is one running control plane with what belongs to it. Its methods may be used from several goroutines.
type Cluster struct {
	name       string
	dir        string
	temporary  bool
	log        io.Writer
	binary     string
	ports      ports
	authority  *authority
	server     string
	kubeconfig string

	restConfig *rest.Config
	client     kubernetes.Interface
	dynamic    dynamic.Interface
	mapper     *restmapper.DeferredDiscoveryRESTMapper

	// lifeline is the pipe on which every part of the cluster hangs: they end when its writing end closes, which the
	// kernel does even if this process is killed.
	lifelineRead, lifelineWrite *os.File

	mu      sync.Mutex
	running map[string]*process // by part
	stopped bool
}

// errPortTaken means that a part found its port in use.
var errPortTaken = errors.New("a port was taken by somebody else")

// Start builds the control plane if need be and starts a cluster: when it returns, the API answers, Karpenter's
// definitions are established, a KWOKNodeClass "default" is there, and Karpenter is ready.
//
// Stop ends it. If this process dies without that, the cluster ends too; only its temporary folder stays.
func Start(ctx context.Context, options Options) (*Cluster, error) {
	if options.Name == "" {
		options.Name = unnamed
	}
	if options.Log == nil {
		options.Log = io.Discard
	}
	options.Log = &lockedWriter{inner: options.Log}
	binary, err := Build(ctx, options.Log)
	if err != nil {
		return nil, err
	}
	if _, bounded := ctx.Deadline(); !bounded {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, startTimeout)
		defer cancel()
	}
	for attempt := 1; ; attempt++ {
		c, err := startOnce(ctx, binary, options)
		if err == nil {
			return c, nil
		}
		if attempt == startAttempts || !errors.Is(err, errPortTaken) {
			return nil, fmt.Errorf("%s does not start: %w", called(options.Name), err)
		}
	}
}

// startOnce is one attempt of Start; it leaves nothing running if it fails.
func startOnce(ctx context.Context, binary string, options Options) (c *Cluster, err error) {
	begun := time.Now()
	c = &Cluster{name: options.Name, log: options.Log, binary: binary, running: map[string]*process{}}
	defer func() {
		if err != nil {
			c.Stop()
			c = nil
		}
	}()
	if err := c.prepare(options.Dir); err != nil {
		return c, err
	}
	if err := c.startControlPlane(ctx); err != nil {
		return c, err
	}
	if !options.WithoutKwok {
		if err := c.start(partKwok, c.kwokArgs(), nil); err != nil {
			return c, err
		}
	}
	if err := c.installKarpenter(ctx); err != nil {
		return c, err
	}
	if !options.WithoutKarpenter {
		if err := c.StartKarpenter(ctx); err != nil {
			return c, err
		}
	}
	c.say("ready after %s: %s", time.Since(begun).Round(100*time.Millisecond), c.kubeconfig)
	return c, nil
}

// prepare makes the folder, the ports, the identities and the lifeline.
func (c *Cluster) prepare(dir string) (err error) {
	if dir == "" {
		c.temporary = true
		dir, err = os.MkdirTemp("", c.name+"-")
	} else {
		err = os.MkdirAll(dir, 0o755)
	}
	if err != nil {
		return fmt.Errorf("no folder for the cluster: %w", err)
	}
	if c.dir, err = filepath.Abs(dir); err != nil {
		return fmt.Errorf("no folder for the cluster: %w", err)
	}
	if c.ports, err = freePorts(); err != nil {
		return err
	}
	c.server = localURL("https", c.ports.apiServer)
	if c.authority, err = newAuthority(); err != nil {
		return err
	}
	if c.lifelineRead, c.lifelineWrite, err = os.Pipe(); err != nil {
		return fmt.Errorf("no lifeline for the parts of the cluster: %w", err)
	}
	if err := c.writeFiles(); err != nil {
		return err
	}
	return c.connect()
}

// startControlPlane starts etcd and the API server, waits until it is ready, and then starts those who live off it.
func (c *Cluster) startControlPlane(ctx context.Context) error {
	if err := c.start(partEtcd, c.etcdArgs(), nil); err != nil {
		return err
	}
	if err := c.start(partAPIServer, c.apiServerArgs(), nil); err != nil {
		return err
	}
	if err := c.awaitReady(ctx, partAPIServer, c.apiServerReady); err != nil {
		return err
	}
	if err := c.start(partControllerManager, c.controllerManagerArgs(), nil); err != nil {
		return err
	}
	return c.StartScheduler()
}

// start starts a part, unless it is running already.
func (c *Cluster) start(part string, args, env []string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.stopped {
		return fmt.Errorf("%s can not be started: the cluster has been stopped", part)
	}
	if p := c.running[part]; p != nil && p.running() {
		return nil
	}
	p, err := startProcess(c.binary, part, args, env, c.dir, c.LogOf(part), c.lifelineRead, c.log)
	if err != nil {
		return err
	}
	c.running[part] = p
	return nil
}

// awaitReady waits until ready says so, and fails as soon as the part or one that it needs has ended.
func (c *Cluster) awaitReady(ctx context.Context, part string, ready func(context.Context) bool) error {
	return c.WaitFor(ctx, part+" is ready", func(ctx context.Context) (bool, error) {
		for _, needed := range []string{partEtcd, partAPIServer, part} {
			if err := c.ended(needed); err != nil {
				return false, err
			}
		}
		return ready(ctx), nil
	})
}

// ended returns why a part that was started is not running any more, or nil.
func (c *Cluster) ended(part string) error {
	c.mu.Lock()
	p := c.running[part]
	c.mu.Unlock()
	if p == nil || p.running() {
		return nil
	}
	if p.logged("address already in use") {
		return fmt.Errorf("%s ended: %w", part, errPortTaken)
	}
	return fmt.Errorf("%s ended: %s; the end of its log:\n%s", part, p.exitText, p.tail())
}

// stopPart ends one part and leaves the others running.
func (c *Cluster) stopPart(part string) {
	c.mu.Lock()
	p := c.running[part]
	delete(c.running, part)
	c.mu.Unlock()
	if p != nil {
		p.stop()
	}
}

// Stop ends everything the cluster started and returns once all of it is gone. The temporary folder goes too; one given
// in Options.Dir stays. Stopping twice does nothing.
func (c *Cluster) Stop() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.stopped {
		return
	}
	c.stopped = true
	// Those who live off the API end before it does. Nothing is worth saving: all are killed.
	for _, part := range []string{partKarpenter, partKwok, partScheduler, partControllerManager, partAPIServer, partEtcd} {
		if p := c.running[part]; p != nil {
			p.kill()
		}
	}
	if c.lifelineWrite != nil {
		_ = c.lifelineWrite.Close()
		_ = c.lifelineRead.Close()
	}
	if c.temporary && c.dir != "" {
		_ = os.RemoveAll(c.dir)
	}
}

// Dir returns the cluster's folder.
func (c *Cluster) Dir() string { return c.dir }

// LogOf returns the path of the log of one part: "kube-apiserver", "karpenter" and so on.
func (c *Cluster) LogOf(part string) string { return c.path(part + ".log") }

// AuditLog returns the path of the API server's audit log: a JSON object in a line for every write, and for everything that
// a ServiceAccount asks for, at level Metadata, written before the request is answered. A watch is in there once it has ended.
func (c *Cluster) AuditLog() string { return c.path("audit.log") }

// EnvtestAssets returns the folder to set KUBEBUILDER_ASSETS to.
func (c *Cluster) EnvtestAssets() string { return filepath.Dir(c.binary) }

// Processes returns the process id of every running part.
func (c *Cluster) Processes() map[string]int {
	c.mu.Lock()
	defer c.mu.Unlock()
	ids := map[string]int{}
	for part, p := range c.running {
		if p.running() {
			ids[part] = p.command.Process.Pid
		}
	}
	return ids
}

func (c *Cluster) say(format string, args ...any) {
	_, _ = fmt.Fprintf(c.log, "%s: "+format+"\n", append([]any{called(c.name)}, args...)...)
}

// unnamed is the name of a cluster that was given none.
const unnamed = "cluster"

// called is what messages call a cluster.
func called(name string) string {
	if name == unnamed {
		return name
	}
	return "cluster " + name
}

// lockedWriter lets several goroutines write whole lines to one writer.
type lockedWriter struct {
	mu    sync.Mutex
	inner io.Writer
}

func (w *lockedWriter) Write(line []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.inner.Write(line)
}

// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"syscall"
	"time"
)

const (
	// lifelineVariable tells a part which of its file descriptors is the lifeline. The same name stands in clusterbin.
	lifelineVariable = "CLUSTER_LIFELINE_FD"
	// firstExtraFile is the descriptor that exec gives to the first extra file of a child.
	firstExtraFile = "3"

	// graceToEnd is how long a part that was asked to end may take before it is killed.
	graceToEnd = 10 * time.Second
	// logTail is how many bytes of a part's log an error quotes.
	logTail = 2000
)

// process is one running part of a cluster.
type process struct {
	part     string
	command  *exec.Cmd
	logPath  string
	wanted   atomic.Bool   // false once we are ending it ourselves
	ended    chan struct{} // closed when the process is gone
	exitText string        // why it ended; read it only after ended is closed
}

// startProcess runs a part of the executable with args and env, its output going to logPath.
//
// lifeline is the reading end of a pipe: the part ends when the other end closes, whatever happens to this process. The
// part gets a process group of its own, so that Ctrl-C in a terminal reaches only us, and we end it in order.
func startProcess(binary, part string, args, env []string, dir, logPath string, lifeline *os.File, complain io.Writer) (*process, error) {
	output, err := os.OpenFile(logPath, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return nil, fmt.Errorf("no log file for %s: %w", part, err)
	}
	defer func() { _ = output.Close() }() // the child has its own copy

	command := exec.Command(binary, append([]string{part}, args...)...)
	command.Dir = dir
	command.Env = append([]string{
		"HOME=" + dir, "TMPDIR=" + dir, "PATH=" + os.Getenv("PATH"), lifelineVariable + "=" + firstExtraFile,
	}, env...)
	command.Stdout, command.Stderr = output, output
	command.ExtraFiles = []*os.File{lifeline}
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := command.Start(); err != nil {
		return nil, fmt.Errorf("%s cannot be started: %w", part, err)
	}
	p := &process{part: part, command: command, logPath: logPath, ended: make(chan struct{})}
	p.wanted.Store(true)
	go p.await(complain)
	return p, nil
}

// await reaps the process and says so if nobody had asked it to end.
func (p *process) await(complain io.Writer) {
	_ = p.command.Wait()
	p.exitText = p.command.ProcessState.String()
	close(p.ended)
	if p.wanted.Load() {
		_, _ = fmt.Fprintf(complain, "cluster: %s ended unexpectedly: %s\n%s\n", p.part, p.exitText, p.tail())
	}
}

// running reports whether the process still lives.
func (p *process) running() bool {
	select {
	case <-p.ended:
		return false
	default:
		return true
	}
}

// stop asks the process to end, kills it when it takes too long, and returns once it is gone.
func (p *process) stop() {
	p.wanted.Store(false)
	_ = p.command.Process.Signal(syscall.SIGTERM)
	deadline := time.NewTimer(graceToEnd)
	defer deadline.Stop()
	select {
	case <-p.ended:
	case <-deadline.C:
		p.kill()
	}
}

// kill ends the process at once and returns when it is gone.
func (p *process) kill() {
	p.wanted.Store(false)
	_ = p.command.Process.Kill()
	<-p.ended
}

// logged reports whether the process's log contains text.
func (p *process) logged(text string) bool {
	content, err := os.ReadFile(p.logPath)
	return err == nil && bytes.Contains(content, []byte(text))
}

// tail returns the end of the process's log.
func (p *process) tail() string {
	content, err := os.ReadFile(p.logPath)
	if err != nil {
		return err.Error()
	}
	if len(content) > logTail {
		content = content[len(content)-logTail:]
	}
	return strings.TrimSpace(string(content))
}

// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"

	"noderotation.io/noderotation/test/e2e/audit"
	"noderotation.io/noderotation/test/e2e/manifests"
	"noderotation.io/noderotation/test/e2e/process"
	"noderotation.io/noderotation/test/e2e/record"
)

// scenario is what every story has: a recording that covers all of it, a controller and a way to look at what the
// controller asked for.
type scenario struct {
	recorder   *record.Recorder
	proxy      *process.Proxy
	controller *process.Controller
	fleets     []*fleet
	policies   []string
	folder     string
	auditFrom  audit.Position
}

// begin starts to record. What a scenario makes is removed when it is over.
func begin(ctx context.Context) *scenario {
	GinkgoHelper()
	s := &scenario{folder: GinkgoT().TempDir()}
	var err error
	s.auditFrom, err = audit.End(shared.AuditLog())
	Expect(err).NotTo(HaveOccurred())
	s.recorder, err = record.Start(ctx, shared.Dynamic())
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(s.recorder.Stop)

	path, err := shared.KubeconfigFor(manifests.User, nil)
	Expect(err).NotTo(HaveOccurred())
	identity, err := clientcmd.BuildConfigFromFlags("", path)
	Expect(err).NotTo(HaveOccurred())
	s.proxy, err = process.NewProxy(identity)
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(s.proxy.Close)
	Expect(s.proxy.Kubeconfig(s.kubeconfig())).To(Succeed())

	DeferCleanup(s.end)
	return s
}

func (s *scenario) kubeconfig() string { return filepath.Join(s.folder, "kubeconfig") }
func (s *scenario) log() string        { return filepath.Join(s.folder, "controller.log") }

// controllerRuns starts the controller; with a lease unless told otherwise by flags.
func (s *scenario) controllerRuns(ctx context.Context, flags ...string) {
	GinkgoHelper()
	s.controllerRunsIn(ctx, nil, flags...)
}

// controllerRunsIn starts the controller with these variables in its environment.
func (s *scenario) controllerRunsIn(ctx context.Context, env []string, flags ...string) {
	GinkgoHelper()
	var err error
	s.controller, err = process.Start(ctx, process.Options{
		Binary: binary, Kubeconfig: s.kubeconfig(), Namespace: manifests.Namespace, Log: s.log(),
		LeaderElection: true, Flags: flags, Env: env,
	})
	Expect(err).NotTo(HaveOccurred())
}

// end stops the controller, shows what happened if the scenario failed, and removes what it made.
func (s *scenario) end(ctx context.Context) {
	GinkgoHelper()
	died := error(nil)
	stopped := error(nil)
	if s.controller != nil {
		died = s.controller.Died()
		stopped = s.controller.Stop()
	}
	panics, read := s.panics()
	if CurrentSpecReport().Failed() || died != nil || stopped != nil || len(panics) > 0 {
		s.show()
	}
	s.clear(ctx)
	Expect(died).NotTo(HaveOccurred())
	Expect(stopped).NotTo(HaveOccurred())
	Expect(read).NotTo(HaveOccurred())
	Expect(panics).To(BeEmpty(), "panics of the controllers")
	Expect(s.recorder.Err()).NotTo(HaveOccurred())
}

// logs are the files that the scenario's controllers have written to.
func (s *scenario) logs() []string {
	paths, _ := filepath.Glob(filepath.Join(s.folder, "*.log"))
	return paths
}

// panics are those that the controllers' logs tell of.
func (s *scenario) panics() (found []string, err error) {
	for _, path := range s.logs() {
		panics, unread := process.Panics(path)
		found, err = append(found, panics...), errors.Join(err, unread)
	}
	return found, err
}

// show puts the recording and the controllers' logs into the report.
func (s *scenario) show() {
	for _, path := range s.logs() {
		if log, err := os.ReadFile(path); err == nil {
			AddReportEntry(filepath.Base(path), string(log), ReportEntryVisibilityFailureOrVerbose)
		}
	}
	if all, err := audit.Since(shared.AuditLog(), s.auditFrom); err == nil {
		var writes bytes.Buffer
		for _, record := range all {
			if record.Counts() {
				fmt.Fprintln(&writes, record.At().Format("15:04:05.000"), record.User.Username, record)
			}
		}
		AddReportEntry("what was written, by whom", writes.String(), ReportEntryVisibilityFailureOrVerbose)
	}
	recording, err := s.recorder.Recording()
	if err != nil {
		AddReportEntry("no recording", err.Error(), ReportEntryVisibilityFailureOrVerbose)
		return
	}
	var story bytes.Buffer
	recording.Tell(&story)
	AddReportEntry("the recording", story.String(), ReportEntryVisibilityFailureOrVerbose)
}

// clear removes pools, workloads and policies and waits until nothing of them is left.
func (s *scenario) clear(ctx context.Context) {
	GinkgoHelper()
	for _, policy := range s.policies {
		deletePolicy(ctx, policy)
	}
	for _, fleet := range s.fleets {
		fleet.remove(ctx)
	}
	Expect(shared.Client().CoreV1().Pods(manifests.Namespace).DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{})).To(Succeed())
	Expect(s.recorder.Await(ctx, "the scenario's fleets are gone", func(world record.World) bool {
		for _, fleet := range s.fleets {
			if world.Pools[fleet.Name] != nil || len(world.ClaimsOf(fleet.Name)) > 0 || len(world.NodesOf(fleet.Name)) > 0 {
				return false
			}
		}
		return true
	})).To(Succeed())
}

// recording is complete up to now.
func (s *scenario) recording(ctx context.Context) record.Recording {
	GinkgoHelper()
	return s.since(ctx, 0)
}

// since is the recording after a revision, complete up to now.
func (s *scenario) since(ctx context.Context, from record.Revision) record.Recording {
	GinkgoHelper()
	upTo := s.fence(ctx)
	recording, err := s.recorder.Recording()
	Expect(err).NotTo(HaveOccurred())
	return recording.Between(from, upTo)
}

// fence is a revision that everything recorded from now on lies after.
func (s *scenario) fence(ctx context.Context) record.Revision {
	GinkgoHelper()
	fence, err := s.recorder.Fence(ctx)
	Expect(err).NotTo(HaveOccurred())
	return fence
}

// await waits until something is so, in the world as recorded. It does not go on waiting once the controller has ended
// by itself.
func (s *scenario) await(ctx context.Context, what string, holds func(record.World) bool) {
	GinkgoHelper()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	if controller := s.controller; controller != nil {
		go func() {
			select {
			case <-controller.Ended():
				if died := controller.Died(); died != nil {
					cancel(died)
				}
			case <-ctx.Done():
			}
		}()
	}
	Expect(s.recorder.Await(ctx, what, holds)).To(Succeed())
}

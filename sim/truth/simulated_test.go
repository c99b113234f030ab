// SPDX-License-Identifier: Apache-2.0

package truth_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"
	karpenterv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"noderotation.io/noderotation/api/v1alpha1"
	"noderotation.io/noderotation/controller"
	"noderotation.io/noderotation/sim"
	"noderotation.io/noderotation/sim/cluster"
	"noderotation.io/noderotation/sim/truth"
)

// simulated is the simulator as a world of scenarios.
type simulated struct {
	*sim.World
	config sim.Config
	claims map[string]string
	fired  []truth.Transition
	// fatal is how many writes the controller has left to live; 0 if nothing is to kill it.
	fatal int
	dead  bool
}

var _ truth.World = (*simulated)(nil)

// simulate makes the world of a scenario.
func simulate(scenario *truth.Scenario, machine *controller.Machine) (*simulated, error) {
	s := &simulated{config: scenario.Setting.Config(machine), claims: map[string]string{}}
	s.config.Controller.Absent = true
	s.config.Controller.Writes = func(c client.Client) client.Client { return &mortal{c, s} }
	s.config.Passed = s.passed
	objects, err := scenario.Setting.Join(&s.config)
	if err != nil {
		return nil, err
	}
	objects = slices.DeleteFunc(objects, func(o client.Object) bool { _, is := o.(*v1alpha1.RotationPolicy); return is })
	for _, o := range objects {
		if claim, is := o.(*karpenterv1.NodeClaim); is {
			s.claims[claim.Name] = claim.Name
		}
	}
	s.World, err = sim.New(s.config, objects...)
	return s, err
}

// passed takes a pass down where the controller would log it (controller/reconciler.go).
func (s *simulated) passed(pass controller.Pass, _ int) {
	row, state := pass.Decision.Row, pass.Decision.State
	if !s.dead && (pass.Writes > 0 || row.Leaves(state)) {
		s.fired = append(s.fired, truth.Transition{
			Pool: pass.Snapshot.Pool.Name, Claim: pass.Snapshot.SubjectName(), Row: row.ID, From: state, To: row.To,
		})
	}
}

// Client makes requests as an operator.
func (s *simulated) Client() client.Client { return cluster.NewClient(s.Cluster, nil, nil) }

// Claims are called in the simulator as they are in the scenario.
func (s *simulated) Claims() map[string]string { return s.claims }

// Fired has what would stand in the controller's log.
func (s *simulated) Fired() ([]truth.Transition, error) { return s.fired, nil }

// ControllerRuns is false from a kill on.
func (s *simulated) ControllerRuns() bool { return !s.dead }

// Await makes move after move.
func (s *simulated) Await(_ context.Context, what string, holds func() (bool, error)) error {
	const patience, glance = time.Hour, time.Second
	for end := s.Now().Add(patience); ; {
		if met, err := holds(); met || err != nil {
			return err
		}
		if s.Now().After(end) {
			return fmt.Errorf("waited in vain, for an hour, until %s", what)
		}
		if by := s.Now().Add(glance); !s.Step(by) {
			s.RunUntil(by)
		}
		if s.dead {
			s.StopController()
		}
	}
}

// StartController starts a new one.
func (s *simulated) StartController(context.Context) error {
	s.dead = false
	s.World.StartController()
	return nil
}

// KillController ends it between two passes.
func (s *simulated) KillController() error {
	s.dead = true
	s.StopController()
	return nil
}

// KillControllerAtWrite counts in mortal.
func (s *simulated) KillControllerAtWrite(n int) error {
	s.fatal = n
	return nil
}

// HoldUp slows the simulated cloud down.
func (s *simulated) HoldUp(_ context.Context, extra time.Duration) error {
	s.World.HoldUp(extra)
	return nil
}

// RunOut takes the capacity out of the simulated cloud.
func (s *simulated) RunOut(_ context.Context, zone string) error {
	s.World.RunOut(zone)
	return nil
}

// Drift has the simulated Karpenter find it.
func (s *simulated) Drift(_ context.Context, claim string) error {
	s.World.Drift(s.claims[claim])
	return nil
}

// Vacate has the workload shrink by what runs on the Node.
func (s *simulated) Vacate(_ context.Context, claim string) error {
	node := s.NodeClaim(claim).Status.NodeName
	for _, pod := range slices.Clone(s.Pods()) {
		if pod.Spec.NodeName != node {
			continue
		}
		for i := range s.config.Workloads {
			if load := &s.config.Workloads[i]; load.Namespace == pod.Namespace {
				load.Replicas--
			}
		}
		s.Remove(pod)
	}
	return nil
}

// mortal is the controller's client, which can have it killed at a write.
type mortal struct {
	client.Client
	world *simulated
}

var errKilled = errors.New("the controller was killed")

func (m *mortal) write(do func() error) error {
	if m.world.dead {
		return errKilled
	}
	err := do()
	if err != nil || m.world.fatal == 0 {
		return err
	}
	m.world.fatal--
	if m.world.fatal == 0 {
		m.world.dead = true
		return errKilled
	}
	return nil
}

// Create creates, while the controller lives.
func (m *mortal) Create(ctx context.Context, o client.Object, options ...client.CreateOption) error {
	return m.write(func() error { return m.Client.Create(ctx, o, options...) })
}

// Patch patches, while the controller lives.
func (m *mortal) Patch(ctx context.Context, o client.Object, patch client.Patch, options ...client.PatchOption) error {
	return m.write(func() error { return m.Client.Patch(ctx, o, patch, options...) })
}

// Delete deletes, while the controller lives.
func (m *mortal) Delete(ctx context.Context, o client.Object, options ...client.DeleteOption) error {
	return m.write(func() error { return m.Client.Delete(ctx, o, options...) })
}

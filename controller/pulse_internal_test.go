// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"errors"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	testclock "k8s.io/utils/clock/testing"

	"noderotation.io/noderotation/effects"
)

// aLeader beats by the clock; ended has what came of it.
func aLeader(ctx context.Context, clock *testclock.FakeClock) (pulse *Pulse, ended chan error) {
	pulse, ended = &Pulse{Clock: clock, Limit: DefaultTerm}, make(chan error, 1)
	go func() { ended <- pulse.Start(ctx) }()
	return pulse, ended
}

func TestALeaderThatStoodStillWritesNothingMoreAndEnds(t *testing.T) {
	g := NewWithT(t)
	clock := testclock.NewFakeClock(anHourIn)
	pulse, ended := aLeader(t.Context(), clock)
	g.Eventually(clock.HasWaiters, time.Minute).Should(BeTrue())
	clock.Step(DefaultTerm)
	g.Expect(pulse.Steady()).To(Succeed())

	// Its first pass after it woke asks before the pulse does, or after: neither may write.
	clock.SetTime(clock.Now().Add(27 * time.Second))
	g.Expect(pulse.Steady()).To(MatchError(And(ContainSubstring("stood still for"), ContainSubstring("started anew"))))
	applier := &Applier{Clock: clock, Term: DefaultTerm, Pulse: pulse}
	_, err := applier.Apply(t.Context(), "api", clock.Now(), []effects.Action{effects.DeletePod{Name: "surge-for-old"}})
	g.Expect(overtaken(err)).To(BeTrue(), "the pass ends quietly")
	clock.Step(beat)
	g.Eventually(ended, time.Minute).Should(Receive(MatchError(ContainSubstring("stood still for"))))
	g.Expect(pulse.Steady()).NotTo(Succeed(), "it does not come to life again")
}

func TestALeaderThatEndsOrIsQuickWasNotStill(t *testing.T) {
	g := NewWithT(t)
	clock := testclock.NewFakeClock(anHourIn)
	ctx, end := context.WithCancel(t.Context())
	pulse, ended := aLeader(ctx, clock)
	for range 30 {
		g.Eventually(clock.HasWaiters, time.Minute).Should(BeTrue())
		before := clock.Now()
		clock.Step(beat)
		g.Eventually(pulse.lastBeat, time.Minute).Should(BeTemporally(">", before))
	}
	g.Expect(pulse.Steady()).To(Succeed())
	end()
	g.Eventually(ended, time.Minute).Should(Receive(BeNil()))

	var follower *Pulse
	g.Expect(errors.Join(follower.Steady(), (&Pulse{Clock: clock}).Steady())).To(Succeed(), "nobody minds what a follower misses")
}

func (p *Pulse) lastBeat() time.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.last
}

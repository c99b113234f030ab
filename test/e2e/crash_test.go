// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"noderotation.io/noderotation/api/v1alpha1"
	"noderotation.io/noderotation/test/e2e/process"
	"noderotation.io/noderotation/test/e2e/record"
)

const (
	// alone has a controller act at once: its predecessor's lease would otherwise have to expire first.
	alone = "--leader-elect=false"
	// crashPatience bounds a fleet's rotation during which the controller is killed again and again.
	crashPatience = 8 * time.Minute
)

var _ = Describe("A controller that is killed", func() {
	It("after any of the twelve writes of a rotation comes to the same end (architecture.md, crash safety)", func(ctx SpecContext) {
		s := begin(ctx)
		f := fleetOf("killed", int32(len(theTwelve)), withLargePods)
		s.stands(ctx, f)
		s.controllerRuns(ctx, alone)
		s.killedAtWrite(ctx, 1, func() {
			s.governs(ctx, policyFor("killed", unhurried))
		})
		for n := 2; n <= len(theTwelve); n++ {
			s.await(ctx, fmt.Sprintf("rotation %d is over", n-1), func(world record.World) bool {
				return f.atRest(world) && f.left(world) == len(theTwelve)-n+1
			})
			s.killedAtWrite(ctx, n, func() {
				if n == len(theTwelve) {
					s.lastOneDrains(ctx, f)
					freeze(ctx, f.Name)
				}
			})
		}
		s.settles(ctx, f)
		ExpectOneByOne(s.recording(ctx), f)
	}, SpecTimeout(crashPatience))

	It("at any moment comes to the same end (architecture.md, crash safety)", func(ctx SpecContext) {
		const nodes, mostKills = 4, 20
		seed := GinkgoRandomSeed()
		moments := rand.New(rand.NewPCG(uint64(seed), 0))
		By(fmt.Sprintf("choosing the moments from seed %d (set it with --seed)", seed))
		s, f := begin(ctx), fleetOf("harried", nodes, withLargePods)
		s.stands(ctx, f)
		s.controllerRuns(ctx, alone)
		s.governs(ctx, policyFor("harried"))
		kills := 0
		for ; kills < mostKills && !s.lastOneDrainsWithin(ctx, f, moment(moments)); kills++ {
			s.isKilled(ctx)
		}
		s.rotatesOnce(ctx, f)
		AddReportEntry("kills", kills)
		Expect(kills).To(BeNumerically(">=", nodes), "kills")
		ExpectOneByOne(s.recording(ctx), f)
	}, SpecTimeout(crashPatience))
})

// unhurried leaves time between two rotations to aim at a write of the next one.
func unhurried(spec *v1alpha1.RotationPolicySpec) { spec.Surge.CooldownAfter = seconds(3) }

// left is how many originals are left.
func (f *fleet) left(world record.World) (n int) {
	for _, name := range f.Originals {
		if world.Claims[name] != nil {
			n++
		}
	}
	return n
}

// killedAtWrite has the controller killed when the nth write of the coming rotation has succeeded and before it learns of
// that, and starts another one. No rotation may be in flight; meanwhile is what happens until the kill.
func (s *scenario) killedAtWrite(ctx context.Context, n int, meanwhile func()) {
	GinkgoHelper()
	var killed error
	victim, dead := s.controller, make(chan []process.Write, 1)
	s.proxy.KillAtWrite(n, func(toll []process.Write) {
		killed = victim.Kill()
		dead <- toll
	})
	meanwhile()
	select {
	case toll := <-dead:
		Expect(killed).NotTo(HaveOccurred())
		Expect(wordsOf(toll)).To(Equal(theTwelve[:n]), "the writes before the kill")
	case <-ctx.Done():
		Fail(fmt.Sprintf("write %d of the rotation never came: %v", n, context.Cause(ctx)))
	}
	s.controllerRuns(ctx, alone)
}

// isKilled kills the controller, which must have lived until then, and starts another one.
func (s *scenario) isKilled(ctx context.Context) {
	GinkgoHelper()
	Expect(s.controller.Kill()).To(Succeed())
	s.controllerRuns(ctx, alone)
}

// moment is up to four seconds: about as long as a rotation takes, so that it is hit in every phase.
func moment(moments *rand.Rand) time.Duration {
	return time.Duration(moments.Int64N(int64(4 * time.Second)))
}

// lastOneDrainsWithin waits until the last original drains, but no longer than that.
func (s *scenario) lastOneDrainsWithin(ctx context.Context, f *fleet, wait time.Duration) bool {
	GinkgoHelper()
	bounded, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	err := s.recorder.Await(bounded, "the last original drains", f.lastOneDrains)
	if err != nil && !errors.Is(err, context.DeadlineExceeded) {
		Expect(err).NotTo(HaveOccurred())
	}
	return err == nil
}

// wordsOf are writes in the words of RBAC.
func wordsOf(writes []process.Write) []string {
	var words []string
	for _, write := range writes {
		words = append(words, write.String())
	}
	return words
}

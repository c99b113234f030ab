// SPDX-License-Identifier: Apache-2.0

package explore

import (
	"bytes"
	"encoding/binary"
	"hash/maphash"
	"slices"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	karpenterv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"noderotation.io/noderotation/rotation"
)

// Hash identifies a state up to what can make no difference: names and UIDs, resourceVersions, which of two equal claims
// is which, and how long ago something was once nothing depends on it any more. Two states of one hash have the same
// future. It is of one process only.
type Hash uint64

// canon writes a state's canonical form. It is reused, and used by one goroutine.
type canon struct {
	scene  *Scene
	seed   maphash.Seed
	out    []byte
	claims []claimForm
}

// claimForm is the canonical form of one claim, with its Node and Pods.
type claimForm struct {
	name string
	form []byte
	// refs are the claims that annotations name, told by their place once all are in order.
	refs [4]string
}

func newCanon(scene *Scene, seed maphash.Seed) *canon { return &canon{scene: scene, seed: seed} }

// hash is the state's.
func (c *canon) hash(s *State) Hash {
	c.out = c.out[:0]
	if s.Policy(policyName) == nil {
		c.out = append(c.out, 'u')
	}
	if c.scene.Windows {
		// Only the time of day tells when the window closes and opens.
		c.out = binary.AppendVarint(c.out, int64(s.now.Sub(s.now.Truncate(24*time.Hour))/grid))
	}
	for _, pool := range c.scene.poolNames() {
		c.pool(s, pool)
	}
	return Hash(maphash.Bytes(c.seed, c.out))
}

func (c *canon) pool(s *State, name string) {
	np := s.NodePool(name)
	anchor := ""
	c.out = append(c.out, 'P')
	if np != nil {
		a := np.Annotations
		anchor = a[rotation.KeyActiveRotation]
		c.out = append(c.out, present(a, rotation.KeyActiveRotation), present(a, rotation.KeyActiveRotationState),
			present(a, rotation.KeyDrainingAt), present(a, rotation.KeySurgeWait), present(a, rotation.KeyRotationMode),
			present(a, rotation.KeyAnchoredOn), present(a, notedStray))
		c.out = until(c.out, s.now, a, rotation.KeyLastRotationAt, cooldownAfter)
		c.out = until(c.out, s.now, a, rotation.KeyLastFailureAt, failurePause)
		c.out = until(c.out, s.now, a, rotation.KeyFreeze, 0)
	}
	c.claims = c.claims[:0]
	var started time.Time
	if old := s.NodeClaim(anchor); old != nil {
		started, _ = time.Parse(time.RFC3339, old.Annotations[rotation.KeyStartedAt])
	}
	for _, claim := range s.NodeClaimsBy(byPool, name) {
		c.claims = append(c.claims, c.claim(s, np, claim, anchor, started))
	}
	slices.SortFunc(c.claims, func(a, b claimForm) int { return bytes.Compare(a.form, b.form) })
	for i := range c.claims {
		c.out = append(c.out, 'C')
		c.out = append(c.out, c.claims[i].form...)
		for _, ref := range c.claims[i].refs {
			c.out = append(c.out, c.place(ref))
		}
	}
	c.out = append(c.out, c.place(anchor))
	c.strays(s, name, anchor)
}

// strays are placeholders that no node of the pool has.
func (c *canon) strays(s *State, pool, anchor string) {
	for _, pod := range placeholders(s.View, pool) {
		if pod.Spec.NodeName == "" {
			c.out = append(append(c.out, 'S'), c.place(pod.Annotations[rotation.KeySurgeFor]), flag(pod.Annotations[rotation.KeySurgeFor] == anchor))
		}
	}
}

// place of a claim among the pool's in order; 'n' for none, 'x' for one that is not there.
func (c *canon) place(claim string) byte {
	if claim == "" {
		return 'n'
	}
	for i := range c.claims {
		if c.claims[i].name == claim {
			return byte('0' + i)
		}
	}
	return 'x'
}

// renewable tells whether an attempt at the claim would have to take the anchor over first.
func renewable(np *karpenterv1.NodePool, claim *karpenterv1.NodeClaim) bool {
	return np != nil && np.Annotations[rotation.KeyActiveRotation] == claim.Name &&
		!(&rotation.Claim{Annotations: claim.Annotations}).Underway() && np.Annotations[rotation.KeyAnchoredOn] != claim.ResourceVersion
}

// released tells a claim that was let go while it drained ('d') from one that was let go before ('r').
func released(claim *karpenterv1.NodeClaim) byte {
	switch at, stamped := claim.Annotations[rotation.KeyReleasedAt]; {
	case !stamped:
		return 'n'
	case claim.DeletionTimestamp != nil && at >= rotation.FormatStamp(claim.DeletionTimestamp.Add(-time.Minute)):
		return 'd'
	default:
		return 'r'
	}
}

func (c *canon) claim(s *State, np *karpenterv1.NodePool, claim *karpenterv1.NodeClaim, anchor string, started time.Time) claimForm {
	form := claimForm{name: claim.Name, form: make([]byte, 0, 64)}
	a := claim.Annotations
	out := form.form
	out = append(out, flag(claim.Name == anchor), flag(claimReady(claim)), flag(renewable(np, claim)),
		flag(!started.IsZero() && !claim.CreationTimestamp.Time.Before(started)))
	out = c.age(out, s.now, claim.CreationTimestamp.Time)
	if claim.DeletionTimestamp != nil {
		out = remaining(append(out, 'd'), claim.DeletionTimestamp.Add(drainBound).Sub(s.now))
	}
	if len(a) > 0 {
		out = append(out, 'a')
		out = append(out, a[rotation.KeyState]...)
		out = append(out, released(claim), present(a, notedForeign), present(a, notedReaped), present(a, notedStray))
		out = until(out, s.now, a, rotation.KeyStartedAt, readyTimeout)
		failures, _ := strconv.Atoi(a[rotation.KeyRetryCount])
		failures = min(failures, 4)
		out = append(out, byte('0'+failures))
		out = until(out, s.now, a, rotation.KeyFailedAt, retryBackoff<<max(failures-1, 0))
		if np != nil {
			out = append(out, flag(np.Annotations[rotation.KeyLastFailureAt] < a[rotation.KeyFailedAt]))
		}
		form.refs[0] = a[rotation.KeySurgeClaim]
	}
	if node := s.Node(claim.Status.NodeName); node != nil {
		out = form.node(s, out, node)
	}
	form.form = out
	return form
}

// age tells of a claim's birth as much as a policy asks of it: whether it is of age, and in what time it will be, who of
// those that are goes first, and how far the fallback is.
func (c *canon) age(out []byte, now, born time.Time) []byte {
	age := now.Sub(born)
	switch {
	case age > ofAge && c.scene.Fallback:
		return remaining(append(out, 'o'), expireAfter-rotationBound-age)
	case age > ofAge:
		// Ages lie an hour apart, and the clock is never so far.
		return append(out, 'o', byte(beginning.Sub(born)/time.Hour%251))
	case age > ofAge-10*time.Hour:
		return remaining(append(out, 'm'), ofAge-age)
	default:
		return append(out, 'y')
	}
}

// node of the claim, and the Pods on it.
func (form *claimForm) node(s *State, out []byte, node *corev1.Node) []byte {
	a := node.Annotations
	out = append(out, 'N', flag(nodeReady(node)), flag(node.Spec.Unschedulable), flag(node.DeletionTimestamp != nil))
	if len(a) > 0 {
		out = append(out, present(a, rotation.KeyDoNotDisruptOwned), present(a, rotation.KeyCordoned),
			present(a, notedProtected), present(a, notedCordoned), 'v')
		out = append(out, a[rotation.KeyDoNotDisrupt]...)
		form.refs[1] = a[rotation.KeySurgeFor]
	}
	for _, pod := range s.PodsBy(byNode, node.Name) {
		if pod.Namespace != namespace {
			out = append(out, 'w')
			continue
		}
		out = append(out, 'p', flag(pod.DeletionTimestamp != nil))
		out = append(out, pod.Status.Phase...)
		if pod.Status.StartTime != nil {
			out = remaining(out, pod.Status.StartTime.Add(rotation.Settling).Sub(s.now))
		}
		form.refs[2] = pod.Annotations[rotation.KeySurgeFor]
	}
	return out
}

func flag(is bool) byte {
	if is {
		return '1'
	}
	return '0'
}

func present(annotations map[string]string, key string) byte {
	_, is := annotations[key]
	return flag(is)
}

// until is how long after now the annotation's time and a duration more lie.
func until(out []byte, now time.Time, annotations map[string]string, key string, more time.Duration) []byte {
	value, is := annotations[key]
	if !is {
		return append(out, '-')
	}
	at, err := time.Parse(time.RFC3339, value)
	if err != nil {
		return append(out, '?')
	}
	return remaining(append(out, '+'), at.Add(more).Sub(now))
}

// remaining is how many steps of the clock a limit is ahead; all that lies behind is one.
func remaining(out []byte, left time.Duration) []byte {
	return binary.AppendVarint(out, max(int64((left+grid-1)/grid), 0))
}

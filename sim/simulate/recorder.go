// SPDX-License-Identifier: Apache-2.0

package simulate

import (
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	karpenterv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"noderotation.io/noderotation/controller"
	"noderotation.io/noderotation/rotation"
	"noderotation.io/noderotation/sim"
	"noderotation.io/noderotation/sim/cluster"
)

// recorder watches a world and takes down lives and rotations. What it knows of a rotation it reads from the public
// annotations (§5.3).
type recorder struct {
	world *sim.World
	start time.Time
	// trace of the world; nil without one.
	trace *sim.Trace

	lives map[string]*Life
	order []*Life
	// newest has the last life of each name.
	newest    map[string]*Life
	rotations []*Rotation
	// open has the rotation that is anchored on each pool.
	open map[string]*Rotation
	// undated are the lives of a pool whose due date is not known yet.
	undated  map[string][]*Life
	pools    map[string]*governed
	findings map[subject]bool
	found    []Finding
	fired    map[edge]int
}

type edge struct{ row, from string }

// subject is a finding's code and what it is about: one of the two is empty.
type subject struct{ code, pool, policy string }

// governed is what the passes over a pool have shown of it.
type governed struct {
	governance  rotation.Governance
	feasibility rotation.Feasibility
}

func newRecorder(start time.Time) *recorder {
	return &recorder{
		start: start, order: []*Life{}, rotations: []*Rotation{}, // JSON has lists, never null
		lives: map[string]*Life{}, open: map[string]*Rotation{}, undated: map[string][]*Life{},
		pools: map[string]*governed{}, findings: map[subject]bool{}, newest: map[string]*Life{}, fired: map[edge]int{},
	}
}

func (r *recorder) now() time.Time {
	if r.world == nil {
		return r.start
	}
	return r.world.Now()
}

// seen takes a change of the cluster down.
func (r *recorder) seen(c cluster.Change) {
	switch c.Kind {
	case cluster.NodeClaim:
		before, _ := c.Before.(*karpenterv1.NodeClaim)
		after, _ := c.After.(*karpenterv1.NodeClaim)
		r.claim(before, after)
	case cluster.NodePool:
		before, _ := c.Before.(*karpenterv1.NodePool)
		if after, ok := c.After.(*karpenterv1.NodePool); ok && after != nil {
			r.pool(before, after)
		}
	default:
	}
}

func (r *recorder) claim(before, after *karpenterv1.NodeClaim) {
	now := r.now()
	if after == nil {
		r.gone(before, now)
		return
	}
	life := r.lives[string(after.UID)]
	if life == nil {
		life = r.born(after)
	}
	if life.Node == "" {
		life.Node = after.Status.NodeName
	}
	if life.Ready == nil && ready(after) {
		life.Ready = &now
		if before == nil {
			life.Ready = &life.Born
		}
	}
	if life.Deleted == nil && after.DeletionTimestamp != nil {
		life.Deleted = &now
		life.Fate = r.fateOf(life, after)
	}
	if open := r.open[life.Pool]; open != nil && open.Claim == after.Name {
		if surge := after.Annotations[rotation.KeySurgeClaim]; surge != "" {
			open.Replacement = surge
		}
	}
}

func (r *recorder) born(claim *karpenterv1.NodeClaim) *Life {
	life := &Life{
		Claim: claim.Name, Pool: claim.Labels[rotation.LabelNodePool], Zone: claim.Labels[corev1.LabelTopologyZone],
		Born: claim.CreationTimestamp.UTC(), Fate: Alive,
	}
	if expiry := claim.Spec.ExpireAfter.Duration; expiry != nil {
		deadline := life.Born.Add(*expiry)
		life.Deadline = &deadline
	}
	r.lives[string(claim.UID)], r.newest[life.Claim] = life, life
	r.order = append(r.order, life)
	r.undated[life.Pool] = append(r.undated[life.Pool], life)
	return life
}

// fateOf tells who ends the claim whose deletion has just been asked for.
func (r *recorder) fateOf(life *Life, claim *karpenterv1.NodeClaim) Fate {
	open := r.open[life.Pool]
	switch {
	case open != nil && open.Claim == claim.Name && open.Draining != nil && open.Fallback:
		return Fallback
	case open != nil && open.Claim == claim.Name && open.Draining != nil:
		return Rotated
	case life.Deadline != nil && !r.now().Before(*life.Deadline):
		return Expired
	default:
		return Removed
	}
}

func (r *recorder) gone(claim *karpenterv1.NodeClaim, now time.Time) {
	life := r.lives[string(claim.UID)]
	if life == nil {
		return
	}
	delete(r.lives, string(claim.UID))
	life.Gone = &now
	switch {
	case life.Fate == Alive && life.Node == "":
		life.Fate = Refused
	case life.Fate == Alive:
		life.Fate = Removed
	case life.Deadline != nil && (life.Fate == Rotated || life.Fate == Fallback):
		margin := secondsOf(life.Deadline.Sub(now))
		life.Margin = &margin
	}
}

func ready(claim *karpenterv1.NodeClaim) bool {
	for _, c := range claim.Status.Conditions {
		if c.Type == karpenterv1.ConditionTypeInitialized {
			return c.Status == metav1.ConditionTrue
		}
	}
	return false
}

// pool follows the anchor of a pool and its companions.
func (r *recorder) pool(before, after *karpenterv1.NodePool) {
	now := r.now()
	open, anchor := r.open[after.Name], after.Annotations[rotation.KeyActiveRotation]
	if open != nil && anchor != open.Claim {
		open.End, open.last = &now, r.trace.Len()
		open.Outcome = r.outcome(open, before, after)
		if life := r.newest[open.Claim]; life != nil && life.Pool == after.Name {
			open.Margin = life.Margin
		}
		delete(r.open, after.Name)
		open = nil
	}
	if open == nil && anchor != "" {
		open = r.begin(after.Name, anchor)
	}
	if open == nil {
		return
	}
	open.Fallback = after.Annotations[rotation.KeyRotationMode] == rotation.ModeForcefulFallback
	if open.Draining == nil && after.Annotations[rotation.KeyActiveRotationState] == rotation.StateDraining {
		open.Draining = &now
	}
}

func (r *recorder) begin(pool, claim string) *Rotation {
	now := r.now()
	open := &Rotation{Pool: pool, Claim: claim, Start: now, Attempt: 1, Outcome: InProgress, first: r.trace.Len()}
	if object := r.claimNamed(claim); object != nil {
		open.Age = secondsOf(now.Sub(object.CreationTimestamp.Time))
		if failures, err := strconv.Atoi(object.Annotations[rotation.KeyRetryCount]); err == nil {
			open.Attempt += failures
		}
	}
	r.open[pool] = open
	r.rotations = append(r.rotations, open)
	return open
}

// claimNamed is nil while the world is still being filled.
func (r *recorder) claimNamed(name string) *karpenterv1.NodeClaim {
	if r.world == nil {
		return nil
	}
	return r.world.NodeClaim(name)
}

// outcome reads from what the last update of the pool, and the state of the claim, say about the rotation (§5.2).
func (r *recorder) outcome(open *Rotation, before, after *karpenterv1.NodePool) Outcome {
	changed := func(key string) bool { return before.Annotations[key] != after.Annotations[key] }
	claim := r.claimNamed(open.Claim)
	switch {
	case changed(rotation.KeyLastRotationAt):
		return Completed
	case changed(rotation.KeyLastFailureAt):
		return Failed
	case claim == nil || claim.DeletionTimestamp != nil:
		return Overtaken
	default:
		return LetGo
	}
}

// passed takes down what a pass has concluded.
func (r *recorder) passed(pass controller.Pass, told int) {
	d, s := pass.Decision, pass.Snapshot
	if pass.Writes > 0 || told > 0 {
		r.fired[edge{d.Row.ID, d.State}]++
	}
	pool := r.pools[s.Pool.Name]
	if pool == nil {
		pool = &governed{}
		r.pools[s.Pool.Name] = pool
	}
	pool.governance, pool.feasibility = s.Governance, s.Feasibility
	r.findingsOf(s)
	if len(r.undated[s.Pool.Name]) > 0 && s.Governance.Policy != nil {
		r.date(s)
	}
}

// date says when the lives of the pool come of age that it has not been said of.
func (r *recorder) date(s *rotation.Snapshot) {
	for _, life := range r.undated[s.Pool.Name] {
		if claim, there := s.Claim(life.Claim); there {
			if due, ever := s.DueAt(&claim); ever {
				due = due.UTC()
				life.Due = &due
			}
		}
	}
	delete(r.undated, s.Pool.Name)
}

// findingsOf takes the engine's own findings down, each once.
func (r *recorder) findingsOf(s *rotation.Snapshot) {
	for _, f := range s.Feasibility.Findings {
		key := subject{code: f.Code, pool: s.Pool.Name}
		if f.Level == rotation.PolicyLevel {
			key = subject{code: f.Code, policy: s.Governance.Policy.Name}
		}
		if r.findings[key] {
			continue
		}
		r.findings[key] = true
		r.found = append(r.found, Finding{Code: f.Code, Severity: Severity(f.Severity), Pool: key.pool, Message: f.Message, Since: s.Now.UTC()})
	}
}

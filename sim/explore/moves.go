// SPDX-License-Identifier: Apache-2.0

package explore

import (
	"fmt"
	"slices"

	"github.com/awslabs/operatorpkg/status"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	karpenterv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"noderotation.io/noderotation/rotation"
	"noderotation.io/noderotation/sim/cluster"
)

// Verb is what a move does.
type Verb uint8

// The verbs. Those up to Wait every scene has; the others are had by the scenes that name them.
const (
	// Pass is made by the controller over a pool, Restart by a controller that starts and sweeps.
	Pass Verb = iota
	Restart
	// Finish ends a claim's drain: its Pods find another home, its Node and itself go.
	Finish
	// Leave takes a Pod away that is ending.
	Leave
	// Register gives a claim its Node, Initialize makes both Ready.
	Register
	Initialize
	// Bind and Run have a placeholder bound and running.
	Bind
	Run
	// Provision launches a claim for a placeholder that waits.
	Provision
	// Wait lets the time pass until something can change by itself.
	Wait

	// Expire has another hand delete a claim, Terminate has Karpenter delete the Node of one that is being deleted.
	Expire
	Terminate
	// GiveUp has Karpenter take back a claim whose launch failed.
	GiveUp
	// Preempt has a workload's Pod take the placeholder's room; Evict fails the placeholder; Remove deletes it.
	Preempt
	Evict
	Remove
	// Occupy puts a workload's Pod on a node that has none.
	Occupy
	// Break makes a Node not Ready, Mend Ready again.
	Break
	Mend
	// The operator's.
	Freeze
	FreezeUnreadably
	Unfreeze
	Cordon
	Uncordon
	Protect
	Unprotect
	DropPolicy
	RestorePolicy
	DropPool
	// Wipe replaces the annotations of a NodePool, and so takes the anchor of its rotation away; Unanchor takes it away alone.
	Wipe
	Unanchor
	// Renew has a claim go and another come by its name, Replace a placeholder.
	Renew
	Replace
	numVerbs
)

var verbs = [numVerbs]string{
	Pass: "the controller passes over %s", Restart: "the controller starts%s",
	Finish: "the drain of %s ends, and it goes", Leave: "Pod %s has ended",
	Register: "the Node of %s registers", Initialize: "%s is Ready",
	Bind: "the scheduler binds %s", Run: "the placeholder %s runs",
	Provision: "Karpenter launches a claim in %s", Wait: "time passes%s",
	Expire: "another hand deletes %s", Terminate: "Karpenter deletes the Node of %s", GiveUp: "the launch of %s fails",
	Preempt: "a workload preempts %s", Evict: "placeholder %s is evicted", Remove: "another hand deletes Pod %s",
	Occupy: "a workload moves onto %s", Break: "Node %s stops being Ready", Mend: "Node %s is Ready again",
	Freeze: "the operator freezes %s", FreezeUnreadably: "the operator freezes %s unreadably", Unfreeze: "the operator unfreezes %s",
	Cordon: "the operator cordons %s", Uncordon: "the operator uncordons %s",
	Protect: "the operator protects %s", Unprotect: "the operator takes the protection of %s away",
	DropPolicy: "the policy is deleted%s", RestorePolicy: "the policy is back%s", DropPool: "NodePool %s is deleted",
	Wipe:     "somebody replaces the annotations of NodePool %s",
	Unanchor: "somebody takes the anchor away from NodePool %s",
	Renew:    "%s goes, and another comes by its name", Replace: "Pod %s goes, and another comes by its name",
}

// Move is what one actor can do next: a verb, what it is done to, and where to.
type Move struct {
	Verb   Verb
	On, To string
}

// String says the move in words.
func (m Move) String() string {
	said := fmt.Sprintf(verbs[m.Verb], m.On)
	if m.To != "" {
		said += " to " + m.To
	}
	return said
}

// moves lists what the actors can do next, but for the controller and the clock. A forward move is one that brings what
// has begun to its end.
func (s *Scene) moves(of *State) []Move {
	var all []Move
	add := func(verb Verb, on string) {
		if verb < Wait || s.may(verb) {
			all = append(all, Move{Verb: verb, On: on})
		}
	}
	for _, pool := range s.poolNames() {
		all = s.podMoves(of, pool, all)
		for _, claim := range of.NodeClaimsBy(byPool, pool) {
			s.claimMoves(of, claim, add)
		}
		if np := of.NodePool(pool); np != nil {
			if _, frozen := np.Annotations[rotation.KeyFreeze]; frozen {
				add(Unfreeze, pool)
			} else {
				add(Freeze, pool)
				add(FreezeUnreadably, pool)
			}
			add(DropPool, pool)
			if np.Annotations[rotation.KeyActiveRotation] != "" {
				add(Wipe, pool)
				add(Unanchor, pool)
			}
		}
	}
	if of.Policy(policyName) != nil {
		add(DropPolicy, "")
	} else {
		add(RestorePolicy, "")
	}
	return all
}

func (s *Scene) claimMoves(of *State, claim *karpenterv1.NodeClaim, add func(Verb, string)) {
	node := of.Node(claim.Status.NodeName)
	switch deleting := claim.DeletionTimestamp != nil; {
	case deleting && node == nil:
		add(Finish, claim.Name)
	case deleting:
		add(Finish, claim.Name)
		if node.DeletionTimestamp == nil {
			add(Terminate, claim.Name)
		}
	case node == nil:
		add(Register, claim.Name)
		add(GiveUp, claim.Name)
		add(Expire, claim.Name)
	case !claimReady(claim):
		add(Initialize, claim.Name)
		add(Expire, claim.Name)
	default:
		add(Expire, claim.Name)
		add(Renew, claim.Name)
		s.readyNodeMoves(of, node, add)
	}
	if node == nil || node.DeletionTimestamp != nil {
		return
	}
	if node.Annotations[notedProtected] != "" {
		add(Unprotect, node.Name)
	} else if node.Annotations[rotation.KeyDoNotDisruptOwned] == "" {
		add(Protect, node.Name)
	}
	if node.Spec.Unschedulable {
		add(Uncordon, node.Name)
	} else if node.Annotations[rotation.KeyCordoned] == "" {
		add(Cordon, node.Name)
	}
}

func (s *Scene) readyNodeMoves(of *State, node *corev1.Node, add func(Verb, string)) {
	if nodeReady(node) {
		add(Break, node.Name)
	} else {
		add(Mend, node.Name)
	}
	if room(of, node) {
		add(Occupy, node.Name)
	}
}

// room is true of a node that a placeholder fits on: it is Ready, open, and no workload is there.
func room(of *State, node *corev1.Node) bool {
	return nodeReady(node) && !node.Spec.Unschedulable && node.DeletionTimestamp == nil && len(of.PodsBy(byNode, node.Name)) == 0
}

// podMoves are those of the pool's placeholders.
func (s *Scene) podMoves(of *State, pool string, all []Move) []Move {
	waiting := false
	for _, pod := range placeholders(of.View, pool) {
		add := func(verb Verb, to string) {
			if verb <= Wait || s.may(verb) {
				all = append(all, Move{Verb: verb, On: pod.Name, To: to})
			}
		}
		switch {
		case pod.DeletionTimestamp != nil:
			add(Leave, "")
			continue
		case pod.Spec.NodeName == "":
			for _, claim := range of.NodeClaimsBy(byPool, pool) {
				if node := of.Node(claim.Status.NodeName); node != nil && claim.DeletionTimestamp == nil && room(of, node) {
					add(Bind, node.Name)
				}
			}
			waiting = true
		case pod.Status.Phase == corev1.PodPending:
			add(Run, "")
			add(Preempt, "")
		case pod.Status.Phase == corev1.PodRunning:
			add(Preempt, "")
			add(Evict, "")
		}
		add(Remove, "")
		add(Replace, "")
	}
	if waiting && !s.Barren && s.canLaunch(of, pool) {
		all = append(all, Move{Verb: Provision, On: pool})
	}
	return all
}

// mostLaunched is how many claims that are not of the scene's beginning a pool may have.
const mostLaunched = 2

// canLaunch is true where no claim is on its way and the pool may have one more.
func (s *Scene) canLaunch(of *State, pool string) bool {
	launched := 0
	for _, claim := range of.NodeClaimsBy(byPool, pool) {
		if claim.DeletionTimestamp == nil && !claimReady(claim) {
			return false
		}
		if claim.CreationTimestamp.Compare(beginning) >= 0 {
			launched++
		}
	}
	np := of.NodePool(pool)
	if np == nil {
		return false
	}
	if limit, limited := np.Spec.Limits["nodes"]; limited && int64(len(of.NodeClaimsBy(byPool, pool))) >= limit.Value() {
		return false
	}
	return launched < mostLaunched
}

// make makes a move of an actor's. The state is the caller's own.
func (s *Scene) make(of *State, move Move) {
	if move.Verb < Expire {
		s.makeForward(of, move)
		return
	}
	if move.Verb >= Freeze {
		s.makeOperators(of, move)
		return
	}
	switch move.Verb {
	case Expire:
		s.expire(of, of.NodeClaim(move.On))
	case Terminate:
		cluster.Edit(of.Cluster, of.Node(of.NodeClaim(move.On).Status.NodeName), func(n *corev1.Node) { n.DeletionTimestamp = new(metav1.NewTime(of.now)) })
	case GiveUp:
		of.remove(of.NodeClaim(move.On))
	case Preempt:
		pod := of.Pod(namespace, move.On)
		host := pod.Spec.NodeName
		cluster.Edit(of.Cluster, pod, func(p *corev1.Pod) { p.DeletionTimestamp = new(metav1.NewTime(of.now)) })
		of.settle(host)
	case Evict:
		cluster.Edit(of.Cluster, of.Pod(namespace, move.On), func(p *corev1.Pod) { p.Status.Phase = corev1.PodFailed })
	case Remove:
		of.Remove(of.Pod(namespace, move.On))
	case Occupy:
		of.settle(move.On)
	case Break, Mend:
		cluster.Edit(of.Cluster, of.Node(move.On), func(n *corev1.Node) { setNodeReady(n, move.Verb == Mend) })
	default:
		panic("explore: nobody makes the move " + move.String())
	}
}

// makeForward makes the moves that bring to its end what has begun.
func (s *Scene) makeForward(of *State, move Move) {
	switch move.Verb {
	case Finish:
		of.remove(of.NodeClaim(move.On))
	case Leave:
		of.Remove(of.Pod(namespace, move.On))
	case Register:
		claim := of.NodeClaim(move.On)
		if err := of.Load(nodeOf(claim)); err != nil {
			panic(err)
		}
		cluster.Edit(of.Cluster, claim, func(c *karpenterv1.NodeClaim) { c.Status.NodeName = c.Name })
	case Initialize:
		claim := of.NodeClaim(move.On)
		cluster.Edit(of.Cluster, of.Node(claim.Status.NodeName), func(n *corev1.Node) { setNodeReady(n, true) })
		cluster.Edit(of.Cluster, claim, func(c *karpenterv1.NodeClaim) {
			c.Status.Conditions = []status.Condition{{Type: status.ConditionReady, Status: metav1.ConditionTrue}}
		})
	case Bind:
		cluster.Edit(of.Cluster, of.Pod(namespace, move.On), func(p *corev1.Pod) { p.Spec.NodeName = move.To })
	case Run:
		cluster.Edit(of.Cluster, of.Pod(namespace, move.On), func(p *corev1.Pod) {
			p.Status.Phase, p.Status.StartTime = corev1.PodRunning, new(metav1.NewTime(of.now))
		})
	case Provision:
		of.launch(move.On)
	default:
		panic("explore: nobody makes the move " + move.String())
	}
}

// expire has another hand delete the claim.
func (s *Scene) expire(of *State, claim *karpenterv1.NodeClaim) {
	cluster.Edit(of.Cluster, claim, func(c *karpenterv1.NodeClaim) {
		c.DeletionTimestamp = new(metav1.NewTime(of.now))
		annotate(c, notedForeign, rotation.ValueTrue)
	})
}

// remove takes a claim out with its Node and the Pods on it. A workload's Pod finds another home in the pool, if there
// is one.
func (s *State) remove(claim *karpenterv1.NodeClaim) {
	pool := claim.Labels[rotation.LabelNodePool]
	homeless := 0
	if node := s.Node(claim.Status.NodeName); node != nil {
		for _, pod := range slices.Clone(s.PodsBy(byNode, node.Name)) {
			if pod.Namespace != namespace {
				homeless++
			}
			s.Remove(pod)
		}
		s.Remove(node)
	}
	s.Remove(claim)
	recount(s, pool)
	for _, other := range s.NodeClaimsBy(byPool, pool) {
		if node := s.Node(other.Status.NodeName); homeless > 0 && node != nil && other.DeletionTimestamp == nil && claimReady(other) && room(s, node) {
			s.settle(node.Name)
			homeless--
		}
	}
}

// settle puts a workload's Pod on the node.
func (s *State) settle(node string) {
	pool := s.Node(node).Labels[rotation.LabelNodePool]
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Namespace: pool, Name: "guest-of-" + node, Labels: map[string]string{"app": pool},
		OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: pool}},
	}}
	pod.Spec = corev1.PodSpec{NodeName: node, Containers: []corev1.Container{{
		Name: "app", Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1")}},
	}}}
	pod.Status.Phase = corev1.PodRunning
	if s.Pod(pod.Namespace, pod.Name) == nil {
		if err := s.Load(pod); err != nil {
			panic(err)
		}
	}
}

// launch creates a claim by the lowest name that nothing has or speaks of: Karpenter uses no name twice.
func (s *State) launch(pool string) {
	name := ""
	for i := 1; name == "" || s.speaksOf(pool, name); i++ {
		name = fmt.Sprintf("%s-new-%d", pool, i)
	}
	s.spawn(pool, name)
}

func (s *State) speaksOf(pool, name string) bool {
	if s.NodeClaim(name) != nil || s.NodePool(pool).Annotations[rotation.KeyActiveRotation] == name || placeholderOf(s.View, name) != nil {
		return true
	}
	for _, claim := range s.NodeClaimsBy(byPool, pool) {
		if claim.Annotations[rotation.KeySurgeClaim] == name {
			return true
		}
	}
	for _, node := range s.NodesBy(byPool, pool) {
		if node.Annotations[rotation.KeySurgeFor] == name {
			return true
		}
	}
	return false
}

func (s *State) spawn(pool, name string) {
	template := &s.NodePool(pool).Spec.Template.Spec
	claim := &karpenterv1.NodeClaim{ObjectMeta: metav1.ObjectMeta{
		Name: name, Labels: map[string]string{rotation.LabelNodePool: pool, corev1.LabelTopologyZone: "a", corev1.LabelArchStable: "amd64",
			karpenterv1.CapacityTypeLabelKey: karpenterv1.CapacityTypeOnDemand},
		Finalizers: []string{karpenterv1.TerminationFinalizer},
	}}
	claim.Spec = karpenterv1.NodeClaimSpec{
		NodeClassRef: template.NodeClassRef, TerminationGracePeriod: template.TerminationGracePeriod, ExpireAfter: template.ExpireAfter,
	}
	if err := s.Load(claim); err != nil {
		panic(err)
	}
	recount(s, pool)
}

// nodeOf is the Node of a claim as it registers: not Ready yet.
func nodeOf(claim *karpenterv1.NodeClaim) *corev1.Node {
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{
		Name: claim.Name, Labels: map[string]string{corev1.LabelHostname: claim.Name}, Finalizers: []string{karpenterv1.TerminationFinalizer},
	}}
	for key, value := range claim.Labels {
		node.Labels[key] = value
	}
	node.Spec.ProviderID = "sim:///" + claim.Name
	setNodeReady(node, false)
	return node
}

func setNodeReady(node *corev1.Node, ready bool) {
	is := corev1.ConditionFalse
	if ready {
		is = corev1.ConditionTrue
	}
	node.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: is}}
}

// recount brings what a limited pool uses up to date.
func recount(of *State, pool string) {
	np := of.NodePool(pool)
	if np == nil || len(np.Spec.Limits) == 0 {
		return
	}
	cluster.Edit(of.Cluster, np, func(np *karpenterv1.NodePool) {
		np.Status.Resources = corev1.ResourceList{"nodes": *resource.NewQuantity(int64(len(of.NodeClaimsBy(byPool, pool))), resource.DecimalSI)}
	})
}

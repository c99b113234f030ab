// SPDX-License-Identifier: Apache-2.0

package scripts

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"sigs.k8s.io/controller-runtime/pkg/client"
	karpenterv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"noderotation.io/noderotation/api/v1alpha1"
	"noderotation.io/noderotation/controller"
	"noderotation.io/noderotation/sim"
)

// Setting is what a script's cluster is made of at the start.
type Setting struct {
	Start time.Time
	Seed  uint64
	// Process says how the controller runs, Karpenter what the cloud is able to do.
	Process   sim.Process
	Karpenter sim.Karpenter
	Daemons   []sim.Daemon
	Pools     []*Pool
	Policies  []*v1alpha1.RotationPolicy
	Budgets   []*policyv1.PodDisruptionBudget

	// later are properties that need the start or the other objects.
	later []func(*Setting, []client.Object) error
}

// Pool is a NodePool with its nodes and what runs on them.
type Pool struct {
	sim.Fleet
	// edits of the NodePool beyond what a fleet says.
	edits []func(*karpenterv1.NodePool, *Setting)
}

// steady is a cloud without chance: a node stands 50 s after it was asked for.
func steady() sim.Karpenter {
	return sim.Karpenter{
		Launch: sim.Delay{Base: 5 * time.Second}, Register: sim.Delay{Base: 30 * time.Second},
		Initialize: sim.Delay{Base: 15 * time.Second}, Finish: sim.Delay{Base: 10 * time.Second},
	}
}

// Config is the configuration of the setting's world, under this table and without a trace.
func (s *Setting) Config(machine *controller.Machine) sim.Config {
	karpenter := s.Karpenter
	karpenter.Shapes = maps.Clone(karpenter.Shapes)
	return sim.Config{
		Start: s.Start, Seed: s.Seed, Machine: machine, Controller: s.Process, Karpenter: karpenter, Daemons: slices.Clone(s.Daemons),
	}
}

// Join adds the setting's pools to the configuration, and returns the objects to begin with. The error names what in
// the setting does not fit together.
func (s *Setting) Join(config *sim.Config) ([]client.Object, error) {
	var objects []client.Object
	for _, pool := range s.Pools {
		before := len(objects)
		objects = pool.Join(config, objects)
		if np, ok := objects[before].(*karpenterv1.NodePool); ok {
			for _, edit := range pool.edits {
				edit(np, s)
			}
			s.follow(np, objects[before:])
		}
	}
	for _, policy := range s.Policies {
		objects = append(objects, policy.DeepCopy())
	}
	for _, budget := range s.Budgets {
		objects = append(objects, budget.DeepCopy())
	}
	for _, edit := range s.later {
		if err := edit(s, objects); err != nil {
			return nil, err
		}
	}
	return objects, nil
}

// follow gives the pool's nodes what its template gives to every node.
func (*Setting) follow(pool *karpenterv1.NodePool, members []client.Object) {
	for _, o := range members {
		switch o := o.(type) {
		case *karpenterv1.NodeClaim:
			o.Labels = merged(o.Labels, pool.Spec.Template.Labels)
			o.Spec.Taints = pool.Spec.Template.Spec.Taints
		case *corev1.Node:
			o.Labels = merged(o.Labels, pool.Spec.Template.Labels)
			o.Spec.Taints = pool.Spec.Template.Spec.Taints
		}
	}
}

func merged(labels, more map[string]string) map[string]string {
	out := maps.Clone(labels)
	maps.Copy(out, more)
	return out
}

// parser reads what the document of a script means.
type parser struct {
	script   *Script
	problems Problems
}

func (p *parser) problem(line int, format string, args ...any) {
	p.problems = append(p.problems, Problem{p.script.File, line, fmt.Sprintf(format, args...)})
}

// setting reads an entry of the setting.
func (p *parser) setting(e Entry) {
	s := &p.script.Setting
	if s.Start.IsZero() && e.Keyword != "start" {
		p.problem(e.Line, "put the start before %s: times count from it", e.Keyword)
		return
	}
	switch e.Keyword {
	case "start":
		p.start(e)
	case "seed":
		n, err := strconv.ParseUint(e.Name, 10, 32)
		if err != nil {
			p.problem(e.Line, "%q is no seed: write a number", e.Name)
		}
		s.Seed = n
	case "policy":
		policy, err := policyOf(e.Name, nil)
		p.apply(e, err, func(c clause) error { return changePolicy(policy, c) })
		s.Policies = append(s.Policies, policy)
	case "pool":
		pool := &Pool{Fleet: sim.Fleet{Pool: e.Name, Zones: []string{"a"}}}
		p.apply(e, named(e), func(c clause) error { return changePool(pool, c) })
		s.Pools = append(s.Pools, pool)
	case "budget":
		budget := budgetOf(e.Name)
		p.apply(e, named(e), func(c clause) error { return changeBudget(budget, c) })
		s.Budgets = append(s.Budgets, budget)
	case "node", "claim":
		p.apply(e, named(e), func(c clause) error { return changeMember(s, e, c) })
	case "daemon":
		daemon := sim.Daemon{
			Namespace: "kube-system", Name: e.Name, Requests: corev1.ResourceList{}, Tolerations: []corev1.Toleration{{Operator: corev1.TolerationOpExists}},
		}
		p.apply(e, named(e), func(c clause) error { return setQuantity(daemon.Requests, c.key, c.args) })
		s.Daemons = append(s.Daemons, daemon)
	case "karpenter":
		p.apply(e, nil, func(c clause) error { return changeKarpenter(s, c) })
	case "controller":
		p.apply(e, nil, func(c clause) error { return changeProcess(s, c) })
	default:
		p.problem(e.Line, "there is no keyword %q: the head of a script has title, section, about, start, seed, policy, pool, node, "+
			"claim, budget, daemon, karpenter and controller", e.Keyword)
	}
}

// start reads when the script begins, and what holds where it says nothing else.
func (p *parser) start(e Entry) {
	at, err := instant(e.Name)
	if err != nil {
		p.problem(e.Line, "%v", err)
	}
	p.script.Setting = Setting{Start: at, Seed: 1, Karpenter: steady()}
}

// apply reads an entry's clauses.
func (p *parser) apply(e Entry, err error, change func(clause) error) {
	if err != nil {
		p.problem(e.Line, "%v", err)
		return
	}
	for _, c := range e.clauses {
		if err := change(c); err != nil {
			p.problem(c.line, "%s: %v", strings.TrimSpace(e.Keyword+" "+e.Name), err)
		}
	}
}

func named(e Entry) error {
	if len(strings.Fields(e.Name)) != 1 {
		return fmt.Errorf("%s: give it a name, and its properties in indented lines below", e.Keyword)
	}
	return nil
}

// properties are the clauses that something takes, by their first word.
type properties[T any] map[string]func(T, []string) error

// set applies a clause.
func (p properties[T]) set(on T, c clause) error {
	change, known := p[c.key]
	if !known {
		return fmt.Errorf("there is no property %q: write one of %s", c.key, strings.Join(slices.Sorted(maps.Keys(p)), ", "))
	}
	if err := change(on, c.args); err != nil {
		return fmt.Errorf("%s: %w", c, err)
	}
	return nil
}

// one is the single word that a property takes.
func one(args []string) (string, error) {
	if len(args) != 1 {
		return "", fmt.Errorf("it takes one word, not %d", len(args))
	}
	return args[0], nil
}

// spanned is a property of a duration.
func spanned[T any](set func(T, time.Duration)) func(T, []string) error {
	return func(on T, args []string) error {
		word, err := one(args)
		if err != nil {
			return err
		}
		d, err := span(word)
		if err == nil {
			set(on, d)
		}
		return err
	}
}

// listed is a property of words between commas.
func listed[T any](set func(T, []string) error) func(T, []string) error {
	return func(on T, args []string) error { return set(on, listOf(args)) }
}

func listOf(args []string) []string {
	return strings.FieldsFunc(strings.Join(args, " "), func(r rune) bool { return r == ',' || r == ' ' })
}

// flagged is a property without arguments.
func flagged[T any](set func(T)) func(T, []string) error {
	return func(on T, args []string) error {
		if len(args) > 0 {
			return fmt.Errorf("it takes nothing, not %q", strings.Join(args, " "))
		}
		set(on)
		return nil
	}
}

// setQuantity reads an amount of a resource.
func setQuantity(into corev1.ResourceList, name string, args []string) error {
	word, err := one(args)
	if err != nil {
		return err
	}
	q, err := resource.ParseQuantity(word)
	if err != nil {
		return fmt.Errorf("%q is no amount: %w", word, err)
	}
	into[corev1.ResourceName(name)] = q
	return nil
}

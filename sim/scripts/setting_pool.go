// SPDX-License-Identifier: Apache-2.0

package scripts

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/awslabs/operatorpkg/status"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	karpenterv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"noderotation.io/noderotation/rotation"
)

func changePool(pool *Pool, c clause) error { return poolProperties.set(pool, c) }

var poolProperties = properties[*Pool]{
	"expireAfter": func(p *Pool, args []string) error {
		if len(args) == 1 && args[0] == "Never" {
			p.ExpireAfter = 0
			return nil
		}
		return spanned(func(p *Pool, d time.Duration) { p.ExpireAfter = d })(p, args)
	},
	"terminationGracePeriod": spanned(func(p *Pool, d time.Duration) { p.TerminationGracePeriod = d }),
	"zones":                  listed(func(p *Pool, zones []string) error { p.Zones = zones; return nil }),
	"nodes":                  listed(ages),
	"pods": func(p *Pool, args []string) error {
		if len(args) != 3 || args[1] != "a" || args[2] != "node" {
			return errors.New("write `pods 2 a node`")
		}
		n, err := number(args[0])
		p.PodsPerNode = n
		return err
	},
	"cpu":    func(p *Pool, args []string) (err error) { p.CPU, err = one(args); return err },
	"memory": func(p *Pool, args []string) (err error) { p.Memory, err = one(args); return err },
	"ready":  after(func(p *Pool, d time.Duration) { p.ReadyAfter = d }),
	"end":    after(func(p *Pool, d time.Duration) { p.EndsAfter = d }),
	"roam":   flagged(func(p *Pool) { p.Roaming = true }),
	"grace":  spanned(func(p *Pool, d time.Duration) { p.Grace = &d }),
	"label": func(p *Pool, args []string) error {
		return labelled(args, func(key, value string) {
			if p.Labels == nil {
				p.Labels = map[string]string{}
			}
			p.Labels[key] = value
		})
	},
	"nodeLabel": func(p *Pool, args []string) error {
		return labelled(args, func(key, value string) {
			p.edit(func(np *karpenterv1.NodePool, _ *Setting) {
				np.Spec.Template.Labels = merged(map[string]string{key: value}, np.Spec.Template.Labels)
			})
		})
	},
	"limit": func(p *Pool, args []string) error {
		if len(args) != 2 {
			return errors.New("write a resource and its limit: `limit cpu 12`")
		}
		if p.Limits == nil {
			p.Limits = corev1.ResourceList{}
		}
		return setQuantity(p.Limits, args[0], args[1:])
	},
	"disruptions": disruptions,
	"shape":       shape,
	"requirement": requirement,
	"taint":       taint,
	"static": func(p *Pool, args []string) error {
		word, err := one(args)
		if err != nil {
			return err
		}
		n, err := strconv.ParseInt(word, 10, 32)
		p.edit(func(np *karpenterv1.NodePool, _ *Setting) { np.Spec.Replicas = new(n) })
		return err
	},
	"unready": flagged(func(p *Pool) {
		p.edit(func(np *karpenterv1.NodePool, _ *Setting) { np.Status.Conditions = unready(np.Status.Conditions) })
	}),
	"annotation": func(p *Pool, args []string) error {
		return labelled(args, func(key, value string) {
			p.edit(func(np *karpenterv1.NodePool, s *Setting) {
				np.Annotations = rotation.Annotate(np.Annotations, map[string]string{keyOf(key): absolute(value, s.Start)})
			})
		})
	},
}

func (p *Pool) edit(edit func(*karpenterv1.NodePool, *Setting)) { p.edits = append(p.edits, edit) }

// ages reads the ages of the nodes; 8x3d stands for eight nodes of three days.
func ages(p *Pool, words []string) error {
	for _, word := range words {
		count := 1
		if times, age, found := strings.Cut(word, "x"); found {
			n, err := number(times)
			if err != nil {
				return err
			}
			count, word = n, age
		}
		age, err := span(word)
		if err != nil {
			return err
		}
		p.Ages = append(p.Ages, slices.Repeat([]time.Duration{age}, count)...)
	}
	return nil
}

// after reads `after 5s`.
func after(set func(*Pool, time.Duration)) func(*Pool, []string) error {
	return func(p *Pool, args []string) error {
		if len(args) != 2 || args[0] != "after" {
			return errors.New("write `after` and a duration")
		}
		return spanned(set)(p, args[1:])
	}
}

func labelled(args []string, set func(key, value string)) error {
	word, err := one(args)
	if err != nil {
		return err
	}
	key, value, err := pair(word)
	if err == nil {
		set(key, value)
	}
	return err
}

// disruptions reads a disruption budget of the NodePool: `disruptions 10%`, `disruptions 0 Drifted`.
func disruptions(p *Pool, args []string) error {
	if len(args) == 0 {
		return errors.New("write how many nodes may go at a time, and of what reasons if not of all: `disruptions 0 Drifted`")
	}
	budget := karpenterv1.Budget{Nodes: args[0]}
	for _, reason := range listOf(args[1:]) {
		budget.Reasons = append(budget.Reasons, karpenterv1.DisruptionReason(reason))
	}
	p.edit(func(np *karpenterv1.NodePool, _ *Setting) {
		np.Spec.Disruption.Budgets = append(np.Spec.Disruption.Budgets, budget)
	})
	return nil
}

// shape reads what a node has to offer: shape cpu=4 memory=16Gi pods=110.
func shape(p *Pool, args []string) error {
	p.Shape = corev1.ResourceList{}
	for _, word := range args {
		key, value, err := pair(word)
		if err == nil {
			err = setQuantity(p.Shape, key, []string{value})
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// requirement reads what the template requires of its nodes: requirement node.kubernetes.io/family In c5,m5.
func requirement(p *Pool, args []string) error {
	if len(args) < 2 {
		return errors.New("write key, operator and values: `requirement example.com/family In c5,m5`")
	}
	r := karpenterv1.NodeSelectorRequirementWithMinValues{
		Key: args[0], Operator: corev1.NodeSelectorOperator(args[1]), Values: listOf(args[2:]),
	}
	p.edit(func(np *karpenterv1.NodePool, _ *Setting) {
		np.Spec.Template.Spec.Requirements = append(np.Spec.Template.Spec.Requirements, r)
	})
	return nil
}

// taint reads key=value:Effect.
func taint(p *Pool, args []string) error {
	word, err := one(args)
	if err != nil {
		return err
	}
	of, effect, found := strings.Cut(word, ":")
	key, value, err := pair(of)
	if !found || err != nil {
		return fmt.Errorf("%q is no taint such as dedicated=api:NoSchedule", word)
	}
	p.edit(func(np *karpenterv1.NodePool, _ *Setting) {
		np.Spec.Template.Spec.Taints = append(np.Spec.Template.Spec.Taints, corev1.Taint{Key: key, Value: value, Effect: corev1.TaintEffect(effect)})
	})
	return nil
}

func unready(conditions []status.Condition) []status.Condition {
	out := slices.Clone(conditions)
	for i := range out {
		if out[i].Type == status.ConditionReady {
			out[i].Status, out[i].Reason, out[i].Message = metav1.ConditionFalse, "NotReady", "it does not stand yet"
		}
	}
	return out
}

// member is a node of a pool: its Node, or its NodeClaim.
type member struct {
	object  client.Object
	setting *Setting
}

// changeMember puts a property of a Node or NodeClaim off until it is there.
func changeMember(s *Setting, e Entry, c clause) error {
	if _, known := memberProperties[c.key]; !known {
		return memberProperties.set(member{}, c)
	}
	s.later = append(s.later, func(s *Setting, objects []client.Object) error {
		for _, o := range objects {
			_, node := o.(*corev1.Node)
			_, claim := o.(*karpenterv1.NodeClaim)
			if o.GetName() == e.Name && (node && e.Keyword == "node" || claim && e.Keyword == "claim") {
				return memberProperties.set(member{o, s}, c)
			}
		}
		return Problem{Line: e.Line, Message: fmt.Sprintf("no pool has a %s %s: those of the pool api are api-0, api-1, …", e.Keyword, e.Name)}
	})
	return nil
}

var memberProperties = properties[member]{
	"annotation": func(m member, args []string) error {
		return labelled(args, func(key, value string) {
			m.object.SetAnnotations(rotation.Annotate(m.object.GetAnnotations(), map[string]string{keyOf(key): absolute(value, m.setting.Start)}))
		})
	},
	"label": func(m member, args []string) error {
		return labelled(args, func(key, value string) {
			m.object.SetLabels(merged(m.object.GetLabels(), map[string]string{key: value}))
		})
	},
	"protected": flagged(func(m member) {
		m.object.SetAnnotations(rotation.Annotate(m.object.GetAnnotations(), map[string]string{rotation.KeyDoNotDisrupt: rotation.ValueTrue}))
	}),
	"cordoned": func(m member, _ []string) error {
		node, ok := m.object.(*corev1.Node)
		if !ok {
			return errors.New("only a node can be cordoned")
		}
		node.Spec.Unschedulable = true
		return nil
	},
	"unready": flagged(func(m member) {
		switch o := m.object.(type) {
		case *karpenterv1.NodeClaim:
			o.Status.Conditions = unready(o.Status.Conditions)
		case *corev1.Node:
			o.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionFalse}}
		}
	}),
	"expireAfter": func(m member, args []string) error {
		claim, ok := m.object.(*karpenterv1.NodeClaim)
		if !ok {
			return errors.New("only a claim expires")
		}
		if len(args) == 1 && args[0] == "Never" {
			claim.Spec.ExpireAfter = karpenterv1.NillableDuration{}
			return nil
		}
		return spanned(func(c *karpenterv1.NodeClaim, d time.Duration) {
			c.Spec.ExpireAfter = karpenterv1.NillableDuration{Duration: &d}
		})(claim, args)
	},
	"terminationGracePeriod": func(m member, args []string) error {
		claim, ok := m.object.(*karpenterv1.NodeClaim)
		if !ok {
			return errors.New("only a claim has a terminationGracePeriod")
		}
		return spanned(func(c *karpenterv1.NodeClaim, d time.Duration) {
			c.Spec.TerminationGracePeriod = &metav1.Duration{Duration: d}
		})(claim, args)
	},
	"allocatable": func(m member, args []string) error {
		list := corev1.ResourceList{}
		for _, word := range args {
			key, value, err := pair(word)
			if err == nil {
				err = setQuantity(list, key, []string{value})
			}
			if err != nil {
				return err
			}
		}
		switch o := m.object.(type) {
		case *karpenterv1.NodeClaim:
			o.Status.Allocatable = list
		case *corev1.Node:
			o.Status.Allocatable = list
		}
		return nil
	},
}

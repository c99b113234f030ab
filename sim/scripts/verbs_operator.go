// SPDX-License-Identifier: Apache-2.0

package scripts

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	karpenterv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"noderotation.io/noderotation/api/v1alpha1"
	"noderotation.io/noderotation/rotation"
	"noderotation.io/noderotation/sim/cluster"
)

// operatorVerbs are what people and other programs do to the cluster.
func operatorVerbs() []verb { return append(editVerbs(), objectVerbs()...) }

// editVerbs change a NodePool or a Node.
func editVerbs() []verb {
	return []verb{
		{"freeze pool <pool> until <time>", func(s slots) (action, error) {
			until, err := s.span("time")
			return on(s["pool"], editPool(func(np *karpenterv1.NodePool, r *run) {
				note(np, rotation.KeyFreeze, rotation.FormatStamp(r.script.Setting.Start.Add(until)))
			})), err
		}},
		{"unfreeze pool <pool>", func(s slots) (action, error) {
			return on(s["pool"], editPool(func(np *karpenterv1.NodePool, _ *run) { note(np, rotation.KeyFreeze, "") })), nil
		}},
		{"limit pool <pool> <resource> <amount>", func(s slots) (action, error) {
			limit := corev1.ResourceList{}
			err := setQuantity(limit, s["resource"], []string{s["amount"]})
			return on(s["pool"], editPool(func(np *karpenterv1.NodePool, _ *run) {
				limits := corev1.ResourceList(np.Spec.Limits).DeepCopy()
				if limits == nil {
					limits = corev1.ResourceList{}
				}
				for name, q := range limit {
					limits[name] = q
				}
				np.Spec.Limits = karpenterv1.Limits(limits)
			})), err
		}},
		{"protect node <node>", func(s slots) (action, error) {
			return on(s["node"], editNode(func(n *corev1.Node, _ *run) { note(n, rotation.KeyDoNotDisrupt, rotation.ValueTrue) })), nil
		}},
		{"unprotect node <node>", func(s slots) (action, error) {
			return on(s["node"], editNode(func(n *corev1.Node, _ *run) { note(n, rotation.KeyDoNotDisrupt, "") })), nil
		}},
		{"cordon node <node>", func(s slots) (action, error) {
			return on(s["node"], editNode(func(n *corev1.Node, _ *run) { n.Spec.Unschedulable = true })), nil
		}},
		{"uncordon node <node>", func(s slots) (action, error) {
			return on(s["node"], editNode(func(n *corev1.Node, _ *run) { n.Spec.Unschedulable = false })), nil
		}},
		{"make node <node> <condition>", func(s slots) (action, error) {
			status, known := map[string]corev1.ConditionStatus{"ready": corev1.ConditionTrue, "unready": corev1.ConditionFalse}[s["condition"]]
			if !known {
				return nil, errors.New("write ready or unready")
			}
			return on(s["node"], editNode(func(n *corev1.Node, _ *run) {
				n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: status}}
			})), nil
		}},
	}
}

// objectVerbs are done to an object of any kind.
func objectVerbs() []verb {
	return []verb{
		{"annotate <kind> <name> <annotation>", annotate},
		{"delete <kind> <name>", func(s slots) (action, error) {
			_, err := kindOf(s["kind"])
			return func(r *run) error {
				object, err := r.object(s["kind"], s["name"])
				if err == nil {
					err = r.world.Delete(object, nil)
				}
				return errors.Join(err, r.settle())
			}, err
		}},
		{"delete pool <pool> in the foreground", func(s slots) (action, error) {
			return on(s["pool"], func(r *run, name string) error {
				if r.world.NodePool(name) == nil {
					return fmt.Errorf("there is no NodePool %s", name)
				}
				r.world.DeleteInForeground(name)
				return nil
			}), nil
		}},
		{"remove <kind> <name>", func(s slots) (action, error) {
			_, err := kindOf(s["kind"])
			return func(r *run) error {
				object, err := r.object(s["kind"], s["name"])
				if err != nil {
					return err
				}
				r.world.Remove(object)
				return r.settle()
			}, err
		}},
		{"drift claim <claim>", func(s slots) (action, error) {
			return func(r *run) error { r.world.Drift(r.names.real(s["claim"])); return r.settle() }, nil
		}},
		{"create pod <pod> in pool <pool> <properties…>", createPod},
	}
}

// on makes a step of a change to a named object.
func on(name string, do func(r *run, name string) error) action {
	return func(r *run) error {
		if err := do(r, r.names.real(name)); err != nil {
			return err
		}
		return r.settle()
	}
}

func editPool(change func(*karpenterv1.NodePool, *run)) func(*run, string) error {
	return func(r *run, name string) error {
		np := r.world.NodePool(name)
		if np == nil {
			return fmt.Errorf("there is no NodePool %s", name)
		}
		np = np.DeepCopy()
		change(np, r)
		return r.world.Update(np)
	}
}

func editNode(change func(*corev1.Node, *run)) func(*run, string) error {
	return func(r *run, name string) error {
		node := r.world.Node(name)
		if node == nil {
			return fmt.Errorf("there is no Node %s", r.names.alias(name))
		}
		cluster.Edit(r.world.Cluster, node, func(n *corev1.Node) { change(n, r) })
		return nil
	}
}

// note sets an annotation; an empty value removes it.
func note(o client.Object, key, value string) {
	if value == "" {
		o.SetAnnotations(rotation.Annotate(o.GetAnnotations(), nil, key))
	} else {
		o.SetAnnotations(rotation.Annotate(o.GetAnnotations(), map[string]string{key: value}))
	}
}

// annotate reads key=value, or -key for an annotation that goes.
func annotate(s slots) (action, error) {
	if _, err := kindOf(s["kind"]); err != nil {
		return nil, err
	}
	key, value := strings.TrimPrefix(s["annotation"], "-"), ""
	if key == s["annotation"] {
		var err error
		if key, value, err = pair(key); err != nil {
			return nil, fmt.Errorf("%w: write one, or -key for an annotation that goes", err)
		}
	}
	return func(r *run) error {
		object, err := r.object(s["kind"], s["name"])
		if err != nil {
			return err
		}
		set := func(o client.Object) { note(o, keyOf(key), absolute(r.names.real(value), r.script.Setting.Start)) }
		switch o := object.(type) {
		case *karpenterv1.NodePool:
			cluster.Edit(r.world.Cluster, o, func(o *karpenterv1.NodePool) { set(o) })
		case *karpenterv1.NodeClaim:
			cluster.Edit(r.world.Cluster, o, func(o *karpenterv1.NodeClaim) { set(o) })
		case *corev1.Node:
			cluster.Edit(r.world.Cluster, o, func(o *corev1.Node) { set(o) })
		case *corev1.Pod:
			cluster.Edit(r.world.Cluster, o, func(o *corev1.Pod) { set(o) })
		default:
			return fmt.Errorf("a %s has no annotation that a rotation reads", s["kind"])
		}
		return r.settle()
	}, nil
}

// createPod reads the Pod's properties: cpu 3; priority 1000.
func createPod(s slots) (action, error) {
	namespace, name, found := strings.Cut(s["pod"], "/")
	if !found {
		return nil, fmt.Errorf("%q is no NAMESPACE/NAME", s["pod"])
	}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	requests := corev1.ResourceList{}
	pod.Spec.NodeSelector = map[string]string{rotation.LabelNodePool: s["pool"]}
	pod.Spec.Containers = []corev1.Container{{Name: "app", Resources: corev1.ResourceRequirements{Requests: requests}}}
	for _, c := range clausesOf(0, s["properties"]) {
		switch c.key {
		case "priority":
			word, err := one(c.args)
			if err != nil {
				return nil, err
			}
			priority, err := strconv.ParseInt(word, 10, 32)
			if err != nil {
				return nil, fmt.Errorf("%q is no priority: %w", word, err)
			}
			pod.Spec.Priority = new(int32(priority))
		case "protected":
			note(pod, rotation.KeyDoNotDisrupt, rotation.ValueTrue)
		default:
			if err := setQuantity(requests, c.key, c.args); err != nil {
				return nil, err
			}
		}
	}
	return func(r *run) error {
		return errors.Join(r.world.Create(pod.DeepCopy()), r.settle())
	}, nil
}

// policyVerbs are what an operator does to policies.
func policyVerbs() []verb {
	return []verb{
		{"create policy <name> <properties…>", func(s slots) (action, error) {
			policy, err := policyOf(s["name"], clausesOf(0, s["properties"]))
			return func(r *run) error { return errors.Join(r.world.Create(policy.DeepCopy()), r.settle()) }, err
		}},
		{"edit policy <name> <properties…>", func(s slots) (action, error) {
			clauses := clausesOf(0, s["properties"])
			if _, err := policyOf(s["name"], clauses); err != nil {
				return nil, err
			}
			return func(r *run) error {
				err := r.world.EditPolicy(s["name"], func(p *v1alpha1.RotationPolicy) {
					for _, c := range clauses {
						_ = changePolicy(p, c) // it was read above
					}
				})
				return errors.Join(err, r.settle())
			}, nil
		}},
	}
}

// kindOf is the kind of object that a word stands for, as an empty object.
func kindOf(word string) (client.Object, error) {
	kinds := map[string]client.Object{
		"pool": &karpenterv1.NodePool{}, "claim": &karpenterv1.NodeClaim{}, "node": &corev1.Node{}, "pod": &corev1.Pod{},
		"placeholder": &corev1.Pod{}, "policy": &v1alpha1.RotationPolicy{}, "budget": nil,
	}
	kind, known := kinds[word]
	if !known {
		return nil, fmt.Errorf("%q is no kind of object: write pool, claim, node, pod, placeholder, policy or budget", word)
	}
	return kind, nil
}

// object finds what a step names; a placeholder is named by its rotation's claim, a budget by its pool.
func (r *run) object(kind, name string) (client.Object, error) {
	known := r.names.real(name)
	switch kind {
	case "budget":
		if budget := r.world.Budget(known, "budget"); budget != nil {
			return budget, nil
		}
	case "placeholder":
		if pod := r.placeholder(known); pod != nil {
			return pod, nil
		}
	default:
		object, err := kindOf(kind)
		if err != nil {
			return nil, err
		}
		key := client.ObjectKey{Name: known}
		if namespace, name, found := strings.Cut(known, "/"); found {
			key = client.ObjectKey{Namespace: namespace, Name: name}
		}
		if err := r.world.Get(context.Background(), key, object); err == nil {
			return object, nil
		}
	}
	return nil, fmt.Errorf("there is no %s %s at %s", kind, name, r.clock())
}

func (r *run) placeholder(claim string) *corev1.Pod {
	return r.world.Pod(r.settings().Namespace, rotation.PlaceholderName(claim))
}

// clock is the time since the start.
func (r *run) clock() string {
	return spell(r.world.Since(r.script.Setting.Start).Truncate(time.Millisecond))
}

// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
	karpenterv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"noderotation.io/noderotation/controller"
	"noderotation.io/noderotation/machine"
	"noderotation.io/noderotation/rotation"
)

// kind is a kind of objects that a person may ask about.
type kind string

const (
	kindPool  kind = "NodePool"
	kindClaim kind = "NodeClaim"
	kindNode  kind = "Node"
)

// kindsAsked are the words for a kind, as kubectl takes and prints them.
var kindsAsked = map[string]kind{
	"nodepool": kindPool, "nodepools": kindPool, "nodepool.karpenter.sh": kindPool, "nodepools.karpenter.sh": kindPool,
	"nodeclaim": kindClaim, "nodeclaims": kindClaim, "nodeclaim.karpenter.sh": kindClaim, "nodeclaims.karpenter.sh": kindClaim,
	"node": kindNode, "nodes": kindNode, "no": kindNode,
}

// found is a pool, and the claim or Node of it that was asked for.
type found struct {
	pool        karpenterv1.NodePool
	claim, node string
}

// find finds what a name means. A NodeClaim and its own Node may share one.
func (i *Inspector) find(ctx context.Context, name string) (found, error) {
	asked := []kind{kindPool, kindClaim, kindNode}
	if word, rest, prefixed := strings.Cut(name, "/"); prefixed {
		only, known := kindsAsked[strings.ToLower(word)]
		if !known {
			return found{}, fmt.Errorf("%q is no kind: write nodepool/%s, nodeclaim/%s or node/%s", word, rest, rest, rest)
		}
		asked, name = []kind{only}, rest
	}
	var f found
	var is []kind
	var claim karpenterv1.NodeClaim
	var node corev1.Node
	objects := map[kind]client.Object{kindPool: &f.pool, kindClaim: &claim, kindNode: &node}
	var denials []controller.Denial
	for _, k := range asked {
		err := i.Server.Get(ctx, client.ObjectKey{Name: name}, objects[k])
		denial, denied := controller.DenialOf("get", err)
		switch {
		case err == nil:
			is = append(is, k)
		case denied:
			denials = append(denials, denial)
		case !apierrors.IsNotFound(err):
			return f, Explain("get", err)
		}
	}
	if len(is) == 2 && is[0] == kindClaim && claim.Status.NodeName == name {
		is = is[:1]
	}
	switch {
	case len(is) > 1:
		return f, ambiguous(name, is)
	case len(is) == 0 && len(denials) > 0:
		return f, &DeniedError{Denials: denials}
	case len(is) == 0:
		return f, i.look("").unknown(ctx, name, asked...)
	case is[0] == kindPool:
		return f, nil
	}
	if is[0] == kindClaim {
		f.claim = name
	} else {
		f.node = name
	}
	err := i.poolOf(ctx, &f, objects[is[0]], is[0])
	return f, err
}

func ambiguous(name string, is []kind) error {
	var kinds, ways []string
	for _, k := range is {
		kinds = append(kinds, "a "+string(k))
		ways = append(ways, strings.ToLower(string(k))+"/"+name)
	}
	return fmt.Errorf("%s is %s: write %s", name, strings.Join(kinds, " and "), strings.Join(ways, " or "))
}

// poolOf reads the pool that a claim or Node says it belongs to.
func (i *Inspector) poolOf(ctx context.Context, f *found, object client.Object, k kind) error {
	pool := object.GetLabels()[rotation.LabelNodePool]
	if pool == "" {
		return fmt.Errorf("%s %s belongs to no NodePool (it has no label %s): it is not rotated", k, object.GetName(), rotation.LabelNodePool)
	}
	switch err := i.Server.Get(ctx, client.ObjectKey{Name: pool}, &f.pool); {
	case apierrors.IsNotFound(err):
		return fmt.Errorf("%s %s belongs to NodePool %s, which does not exist: it is not rotated", k, object.GetName(), pool)
	default:
		return Explain("get", err)
	}
}

// mostNear is how many names a mistyped one is answered with.
const mostNear = 3

// unknown says that nothing has this name, and what has a similar one. Kinds that may not be listed are left out.
func (l *look) unknown(ctx context.Context, name string, kinds ...kind) error {
	var near, words []string
	for _, k := range kinds {
		words = append(words, string(k))
		names, err := l.names(ctx, k)
		if err != nil {
			return Explain("list", err)
		}
		for _, n := range machine.Nearest(name, names, mostNear) {
			near = append(near, string(k)+" "+n)
		}
	}
	said := fmt.Sprintf("there is no %s %s", strings.Join(words, ", nor a "), name)
	if len(words) > 1 {
		said = fmt.Sprintf("nothing is called %s: no %s", name, strings.Join(words, ", no "))
	}
	if len(near) > 0 {
		return fmt.Errorf("%s; did you mean %s?", said, strings.Join(near, ", or "))
	}
	return fmt.Errorf("%s; `status` lists the NodePools", said)
}

// names lists what there is of a kind.
func (l *look) names(ctx context.Context, k kind) ([]string, error) {
	var names []string
	switch k {
	case kindPool:
		var list karpenterv1.NodePoolList
		if err := l.live.List(ctx, &list); err != nil {
			return nil, err
		}
		for n := range list.Items {
			names = append(names, list.Items[n].Name)
		}
	case kindClaim:
		var list karpenterv1.NodeClaimList
		if err := l.live.List(ctx, &list); err != nil {
			return nil, err
		}
		for n := range list.Items {
			names = append(names, list.Items[n].Name)
		}
	default:
		var list corev1.NodeList
		if err := l.live.List(ctx, &list); err != nil {
			return nil, err
		}
		for n := range list.Items {
			names = append(names, list.Items[n].Name)
		}
	}
	slices.Sort(names)
	return names, nil
}

// Names lists what a person may ask about, for the completion of a command line: NodePools, and where wanted NodeClaims
// and Nodes, each with its kind. What may not be listed is left out.
func (i *Inspector) Names(ctx context.Context, poolsOnly bool) []string {
	kinds := []kind{kindPool, kindClaim, kindNode}
	if poolsOnly {
		kinds = kinds[:1]
	}
	var all []string
	for _, k := range kinds {
		names, err := i.look("").names(ctx, k)
		if err != nil {
			continue
		}
		for _, name := range names {
			all = append(all, name+"\t"+string(k))
		}
	}
	return all
}

// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	karpenterv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"noderotation.io/noderotation/api/v1alpha1"
	"noderotation.io/noderotation/controller"
	"noderotation.io/noderotation/rotation"
)

// Inspector looks at a cluster. Now is the moment of everything that it tells.
type Inspector struct {
	// Server answers with the person's rights.
	Server client.Reader
	// Machine runs the table that decides; Table is what people call it.
	Machine *controller.Machine
	Table   string
	Now     time.Time
	// Namespace of the controller, for the sake of what is told of a placeholder that is yet to be made.
	Namespace string
}

// look is one reading of the cluster, or of one pool of it.
type look struct {
	*Inspector
	live   *controller.LiveReader
	reader *controller.Reader
}

// look begins a reading. With a pool, claims and Nodes of others are left out.
func (i *Inspector) look(pool string) *look {
	live := controller.NewLiveReader(i.Server, pool)
	// Placeholders are looked for in every namespace: a person need not know where the controller lives.
	return &look{i, live, &controller.Reader{Cache: live, Policies: controller.NewPolicies(live)}}
}

// pools lists every NodePool by name. Without the right to do so nothing can be told.
func (l *look) pools(ctx context.Context) ([]karpenterv1.NodePool, error) {
	var list karpenterv1.NodePoolList
	if err := l.live.List(ctx, &list); err != nil {
		return nil, fmt.Errorf("the NodePools cannot be listed: %w", err)
	}
	if denied := l.live.Denied(); len(denied) > 0 {
		return nil, &DeniedError{Denials: denied}
	}
	return list.Items, nil
}

// snapshot reads what the pool's rotation depends on, as a pass of the controller would.
func (l *look) snapshot(ctx context.Context, pool *karpenterv1.NodePool) (rotation.Snapshot, error) {
	s, err := l.reader.Snapshot(ctx, pool, l.Now)
	s.Settings.Namespace = l.Namespace
	if len(s.Placeholders) > 0 {
		s.Settings.Namespace = s.Placeholders[0].Namespace
	}
	return s, err
}

// undecided is true where nothing can be said about what fires: without policies or claims every answer would be wrong.
func (l *look) undecided() bool {
	return slices.ContainsFunc(l.live.Denied(), func(d controller.Denial) bool {
		return d.Resource == "rotationpolicies.noderotation.io" || d.Resource == "nodeclaims.karpenter.sh"
	})
}

// reported is what the controller last said of the pool in its policy's status; empty where it is what the decision comes
// to, or nothing.
func (l *look) reported(ctx context.Context, p Pool) (string, error) {
	var policies v1alpha1.RotationPolicyList
	if err := l.live.List(ctx, &policies); err != nil {
		return "", fmt.Errorf("the RotationPolicies cannot be listed: %w", err)
	}
	for i := range policies.Items {
		if policies.Items[i].Name != p.Policy {
			continue
		}
		for _, entry := range policies.Items[i].Status.NodePools {
			if entry.Name == p.Name && !strings.HasPrefix(p.outlook, strings.TrimSuffix(entry.Message, "…")) {
				return entry.Message, nil
			}
		}
	}
	return "", nil
}

// drain reads what would hold the drain of a claim's Node. The result is a snapshot for that question alone.
func (l *look) drain(ctx context.Context, s rotation.Snapshot, claim rotation.Claim) (rotation.Snapshot, error) {
	pods, err := l.live.PodsOn(ctx, claim.NodeName)
	if err != nil {
		return s, err
	}
	s.PodsByNode = map[string][]*corev1.Pod{claim.NodeName: pods}
	s.Budgets, err = l.live.Budgets(ctx)
	return s, err
}

// denied has what may not be read, in RBAC's words.
func (l *look) denied() []string {
	var told []string
	for _, d := range l.live.Denied() {
		told = append(told, d.String())
	}
	return told
}

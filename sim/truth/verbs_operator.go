// SPDX-License-Identifier: Apache-2.0

package truth

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/awslabs/operatorpkg/status"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"
	karpenterv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"noderotation.io/noderotation/api/v1alpha1"
	"noderotation.io/noderotation/rotation"
)

// operatorVerbs are what people do to the objects, by the same requests in both worlds, and what they wait for.
func operatorVerbs() []verb {
	return []verb{
		plain("freeze pool <pool>", func(ctx context.Context, p *player, s slots) error {
			return p.note(ctx, s[0], rotation.FormatStamp(p.Now().Add(time.Hour)))
		}),
		plain("unfreeze pool <pool>", func(ctx context.Context, p *player, s slots) error { return p.note(ctx, s[0], "") }),
		plain("delete pool <pool>", func(ctx context.Context, p *player, s slots) error {
			return p.Client().Delete(ctx, &karpenterv1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: s[0]}})
		}),
		plain("replace the annotations of pool <pool>", func(ctx context.Context, p *player, s slots) error { return p.replace(ctx, s[0]) }),
		plain("delete claim <claim>", func(ctx context.Context, p *player, s slots) error {
			return p.Client().Delete(ctx, &karpenterv1.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: p.Claims()[s[0]]}})
		}),
		plain("await that Karpenter replaces <claim>", func(ctx context.Context, p *player, s slots) error { return p.replaced(ctx, s[0]) }),
		plain("await that <claim> has drifted", func(ctx context.Context, p *player, s slots) error { return p.drifted(ctx, s[0]) }),
		plain("await the end of claim <claim>", func(ctx context.Context, p *player, s slots) error { return p.gone(ctx, s[0]) }),
		plain("apply policy <policy>", func(ctx context.Context, p *player, s slots) error { return p.apply(ctx, s[0]) }),
		plain("delete policy <policy>", func(ctx context.Context, p *player, s slots) error {
			return p.Client().Delete(ctx, &v1alpha1.RotationPolicy{ObjectMeta: metav1.ObjectMeta{Name: s[0]}})
		}),
		spanned("give policy <policy> a readyTimeout of <span>", func(ctx context.Context, p *player, s slots, d time.Duration) ([]string, error) {
			return nil, p.allow(ctx, s[0], d)
		}),
		plain("delete the placeholder of <claim>", func(ctx context.Context, p *player, s slots) error {
			return p.bereave(ctx, s[0])
		}),
		plain("delete the budget of <pool>", func(ctx context.Context, p *player, s slots) error { return p.lift(ctx, s[0]) }),
		plain("await that nothing of a rotation is left", func(ctx context.Context, p *player, _ slots) error {
			return p.Await(ctx, "nothing of a rotation is left", func() (bool, error) {
				left, err := p.leftovers(ctx)
				return len(left) == 0, err
			})
		}),
	}
}

// note sets or, for an empty value, removes the freeze of a pool.
func (p *player) note(ctx context.Context, pool, value string) error {
	np := &karpenterv1.NodePool{}
	if err := p.Client().Get(ctx, client.ObjectKey{Name: pool}, np); err != nil {
		return err
	}
	before := np.DeepCopy()
	set, removed := map[string]string{rotation.KeyFreeze: value}, []string(nil)
	if value == "" {
		set, removed = nil, []string{rotation.KeyFreeze}
	}
	np.Annotations = rotation.Annotate(np.Annotations, set, removed...)
	return p.Client().Patch(ctx, np, client.MergeFrom(before))
}

// replace leaves a pool without an annotation of ours, as whoever applies the manifest of before with `kubectl replace` does.
func (p *player) replace(ctx context.Context, pool string) error {
	np := &karpenterv1.NodePool{}
	if err := p.Client().Get(ctx, client.ObjectKey{Name: pool}, np); err != nil {
		return err
	}
	before := np.DeepCopy()
	for _, key := range rotation.Keys() {
		delete(np.Annotations, key.Name)
	}
	return p.Client().Patch(ctx, np, client.MergeFrom(before))
}

// apply has a policy of the setting take effect.
func (p *player) apply(ctx context.Context, name string) error {
	for _, policy := range p.scenario.Setting.Policies {
		if policy.Name == name {
			return p.Client().Create(ctx, policy.DeepCopy())
		}
	}
	return fmt.Errorf("the setting has no policy %s", name)
}

// allow changes how long a replacement may take.
func (p *player) allow(ctx context.Context, name string, readyTimeout time.Duration) error {
	policy := &v1alpha1.RotationPolicy{}
	if err := p.Client().Get(ctx, client.ObjectKey{Name: name}, policy); err != nil {
		return err
	}
	before := policy.DeepCopy()
	policy.Spec.Surge.ReadyTimeout = &metav1.Duration{Duration: readyTimeout}
	return p.Client().Patch(ctx, policy, client.MergeFrom(before))
}

// lift deletes the budgets over the Pods of a pool's workload.
func (p *player) lift(ctx context.Context, pool string) error {
	var all policyv1.PodDisruptionBudgetList
	if err := p.Client().List(ctx, &all); err != nil {
		return err
	}
	var failed []error
	lifted := 0
	for i := range all.Items {
		selector, err := metav1.LabelSelectorAsSelector(all.Items[i].Spec.Selector)
		if err == nil && selector.Matches(labels.Set{"app": pool}) {
			err = p.Client().Delete(ctx, &all.Items[i])
			lifted++
		}
		failed = append(failed, err)
	}
	if lifted == 0 {
		failed = append(failed, fmt.Errorf("no budget is over the Pods of %s", pool))
	}
	return errors.Join(failed...)
}

// bereave deletes the placeholder that stands for a claim.
func (p *player) bereave(ctx context.Context, claim string) error {
	var pods corev1.PodList
	if err := p.Client().List(ctx, &pods); err != nil {
		return err
	}
	for i := range pods.Items {
		if pod := &pods.Items[i]; rotation.IsPlaceholder(pod) && pod.Annotations[rotation.KeySurgeFor] == p.Claims()[claim] {
			return p.Client().Delete(ctx, pod)
		}
	}
	return fmt.Errorf("no placeholder stands for %s", claim)
}

// gone waits until a claim no longer exists.
func (p *player) gone(ctx context.Context, claim string) error {
	return p.Await(ctx, "claim "+claim+" is gone", func() (bool, error) {
		err := p.Client().Get(ctx, client.ObjectKey{Name: p.Claims()[claim]}, &karpenterv1.NodeClaim{})
		return apierrors.IsNotFound(err), client.IgnoreNotFound(err)
	})
}

// replaced waits until Karpenter has taken a claim's Node out of use, and has not deleted the claim yet.
func (p *player) replaced(ctx context.Context, name string) error {
	return p.Await(ctx, "Karpenter replaces "+name, func() (bool, error) {
		claim, node := &karpenterv1.NodeClaim{}, &corev1.Node{}
		if err := p.Client().Get(ctx, client.ObjectKey{Name: p.Claims()[name]}, claim); err != nil {
			return false, err
		}
		if err := p.Client().Get(ctx, client.ObjectKey{Name: claim.Status.NodeName}, node); err != nil {
			return false, err
		}
		disrupted := karpenterv1.DisruptedNoScheduleTaint
		return claim.DeletionTimestamp == nil &&
			slices.ContainsFunc(node.Spec.Taints, func(t corev1.Taint) bool { return t.MatchTaint(&disrupted) }), nil
	})
}

// drifted waits until Karpenter has found a claim out of date.
func (p *player) drifted(ctx context.Context, name string) error {
	return p.Await(ctx, name+" has drifted", func() (bool, error) {
		claim := &karpenterv1.NodeClaim{}
		err := p.Client().Get(ctx, client.ObjectKey{Name: p.Claims()[name]}, claim)
		return slices.ContainsFunc(claim.Status.Conditions, func(c status.Condition) bool {
			return c.Type == karpenterv1.ConditionTypeDrifted && c.Status == metav1.ConditionTrue
		}), err
	})
}

// leftovers are anchors, markers of ours, and placeholders. A Node that is being deleted takes its markers with it, as the
// claims of a deleted pool do.
func (p *player) leftovers(ctx context.Context) ([]string, error) {
	var pools karpenterv1.NodePoolList
	var nodes corev1.NodeList
	var pods corev1.PodList
	for _, list := range []client.ObjectList{&pools, &nodes, &pods} {
		if err := p.Client().List(ctx, list); err != nil {
			return nil, err
		}
	}
	var left []string
	note := func(kind string, o client.Object, keys []string) {
		for _, key := range keys {
			if _, stands := o.GetAnnotations()[key]; stands {
				left = append(left, fmt.Sprintf("%s %s: %s", kind, o.GetName(), strings.TrimPrefix(key, "noderotation.io/")))
			}
		}
	}
	for i := range pools.Items {
		note("NodePool", &pools.Items[i], rotation.AnchorKeys())
	}
	for i := range nodes.Items {
		if nodes.Items[i].DeletionTimestamp == nil {
			note("Node", &nodes.Items[i], rotation.NodeMarkers())
		}
	}
	for i := range pods.Items {
		if rotation.IsPlaceholder(&pods.Items[i]) {
			left = append(left, "Pod "+pods.Items[i].Name)
		}
	}
	return left, nil
}

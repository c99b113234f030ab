// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"errors"
	"fmt"
	"net/http"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// modified is the API server's sentence for a resourceVersion that is no longer the newest.
const modified = "the object has been modified; please apply your changes to the latest version and try again"

// find is the current object, or the answer NotFound.
func (c *Cluster) find(kind Kind, key Key) (client.Object, error) {
	if current := c.tables[kind].get(key); current != nil {
		return current, nil
	}
	return nil, apierrors.NewNotFound(kinds[kind].resource, key.Name)
}

// create stores a new object. Its status is the cluster's to write, except for what admission gives a Pod.
func (c *Cluster) create(o client.Object) (client.Object, error) {
	if _, err := KindOf(o); err != nil {
		return nil, err
	}
	return c.adopt(shallow(o))
}

// adopt is create of an object that is nobody else's.
func (c *Cluster) adopt(next client.Object) (client.Object, error) {
	kind, err := KindOf(next)
	if err != nil {
		return nil, err
	}
	key := KeyOf(next)
	switch {
	case next.GetResourceVersion() != "":
		return nil, apierrors.NewBadRequest("resourceVersion should not be set on objects to be created")
	case key.Name == "":
		return nil, c.invalid(kind, key, field.Required(field.NewPath("metadata", "name"), "name or generateName is required"))
	case kinds[kind].namespaced && key.Namespace == "":
		return nil, apierrors.NewBadRequest("an empty namespace may not be set during creation")
	case c.tables[kind].get(key) != nil:
		return nil, apierrors.NewAlreadyExists(kinds[kind].resource, key.Name)
	}
	takeStatus(next, blank(kind))
	next.SetUID(c.nextUID())
	next.SetCreationTimestamp(c.now())
	next.SetDeletionTimestamp(nil)
	next.SetDeletionGracePeriodSeconds(nil)
	next.SetGeneration(0)
	if kinds[kind].generations {
		next.SetGeneration(1)
	}
	if pod, ok := next.(*corev1.Pod); ok {
		c.admit(pod)
		pod.Status.Phase = corev1.PodPending
	}
	c.put(kind, nil, next)
	return next, nil
}

// update replaces an object, or its status alone.
func (c *Cluster) update(o client.Object, status bool) (client.Object, error) {
	kind, err := KindOf(o)
	if err != nil {
		return nil, err
	}
	key := KeyOf(o)
	current, err := c.find(kind, key)
	if err != nil {
		return nil, err
	}
	if uid := o.GetUID(); uid != "" && uid != current.GetUID() {
		return nil, conflict(kind, key, fmt.Errorf("Precondition failed: UID in precondition: %v, UID in object meta: %v", uid, current.GetUID()))
	}
	if o.GetResourceVersion() == "" {
		if kinds[kind].custom {
			return nil, c.invalid(kind, key, field.Invalid(field.NewPath("metadata", "resourceVersion"), 0, "must be specified for an update"))
		}
	} else if o.GetResourceVersion() != current.GetResourceVersion() {
		return nil, conflict(kind, key, errors.New(modified))
	}
	next, _ := o.DeepCopyObject().(client.Object)
	return c.accept(kind, current, next, status)
}

// accept stores what an update or a patch made of the current object, as far as it was entitled to.
func (c *Cluster) accept(kind Kind, current, next client.Object, status bool) (client.Object, error) {
	if status {
		whole := shallow(current)
		takeStatus(whole, next)
		next = whole
	} else {
		takeStatus(next, current)
	}
	next.SetUID(current.GetUID())
	next.SetResourceVersion(current.GetResourceVersion())
	next.SetCreationTimestamp(current.GetCreationTimestamp())
	next.SetDeletionTimestamp(current.GetDeletionTimestamp())
	next.SetDeletionGracePeriodSeconds(current.GetDeletionGracePeriodSeconds())
	next.SetGeneration(current.GetGeneration())
	if kinds[kind].generations && !sameSpec(current, next) {
		next.SetGeneration(current.GetGeneration() + 1)
	}
	if equality.Semantic.DeepEqual(current, next) {
		return current, nil
	}
	return c.store(kind, current, next), nil
}

// store puts the object in the other's place, unless it has just let go of what kept it from being deleted.
func (c *Cluster) store(kind Kind, current, next client.Object) client.Object {
	grace := next.GetDeletionGracePeriodSeconds()
	if next.GetDeletionTimestamp() != nil && len(next.GetFinalizers()) == 0 && (grace == nil || *grace == 0) {
		c.take(kind, current)
		return next
	}
	c.put(kind, current, next)
	return next
}

// precondition of a delete; what is nil is not asked.
type precondition struct {
	uid     *types.UID
	version *string
}

// delete begins an object's deletion, and ends it where nothing holds it. A nil grace is the Pod's own.
func (c *Cluster) delete(kind Kind, key Key, on precondition, grace *int64) error {
	current, err := c.find(kind, key)
	if err != nil {
		return err
	}
	if on.uid != nil && *on.uid != current.GetUID() {
		return conflict(kind, key, fmt.Errorf("Precondition failed: UID in precondition: %v, UID in object meta: %v", *on.uid, current.GetUID()))
	}
	if on.version != nil && *on.version != current.GetResourceVersion() {
		return conflict(kind, key, fmt.Errorf("Precondition failed: ResourceVersion in precondition: %v, ResourceVersion in object meta: %v",
			*on.version, current.GetResourceVersion()))
	}
	period := int64(0)
	if pod, ok := current.(*corev1.Pod); ok {
		period = gracePeriod(pod, grace)
	}
	if period == 0 && len(current.GetFinalizers()) == 0 {
		c.take(kind, current)
		return nil
	}
	if before := current.GetDeletionGracePeriodSeconds(); current.GetDeletionTimestamp() != nil && (before == nil || period >= *before) {
		return nil
	}
	next := shallow(current)
	until := metav1.NewTime(c.now().Add(time.Duration(period) * time.Second))
	next.SetDeletionTimestamp(&until)
	next.SetDeletionGracePeriodSeconds(&period)
	if next.GetGeneration() > 0 {
		next.SetGeneration(next.GetGeneration() + 1)
	}
	c.put(kind, current, next)
	return nil
}

// gracePeriod of a Pod's deletion, in seconds: none for one that no kubelet runs.
func gracePeriod(pod *corev1.Pod, asked *int64) int64 {
	switch {
	case pod.Spec.NodeName == "", pod.Status.Phase == corev1.PodSucceeded, pod.Status.Phase == corev1.PodFailed:
		return 0
	case asked != nil:
		return *asked
	case pod.Spec.TerminationGracePeriodSeconds != nil:
		return *pod.Spec.TerminationGracePeriodSeconds
	default:
		return corev1.DefaultTerminationGracePeriodSeconds
	}
}

// Create stores a new object, as another actor's client does; the answer takes its place.
func (c *Cluster) Create(object client.Object) error {
	return answer(object)(c.create(object))
}

// Adopt is Create of an object that the caller leaves to the cluster: it becomes the stored one, without a copy.
func (c *Cluster) Adopt(object client.Object) error {
	_, err := c.adopt(object)
	return err
}

// Update replaces an object, but for its status, as another actor's client does; the answer takes its place.
func (c *Cluster) Update(object client.Object) error {
	return answer(object)(c.update(object, false))
}

// Delete deletes an object by name and UID, as another actor's client does; grace in seconds, nil for the Pod's own.
func (c *Cluster) Delete(object client.Object, grace *int64) error {
	kind, err := KindOf(object)
	if err != nil {
		return err
	}
	uid := object.GetUID()
	return c.delete(kind, KeyOf(object), precondition{uid: &uid}, grace)
}

// Evict is the eviction subresource: it deletes the Pod if its budget allows, and is counted there at once.
func (c *Cluster) Evict(pod *corev1.Pod) error {
	current := c.Pod(pod.Namespace, pod.Name)
	if current == nil || current.UID != pod.UID {
		return apierrors.NewNotFound(kinds[Pod].resource, pod.Name)
	}
	budgets := c.BudgetsOver(current)
	switch {
	case current.DeletionTimestamp != nil, current.Status.Phase == corev1.PodPending, len(budgets) == 0:
		return c.Delete(current, nil)
	case len(budgets) > 1:
		return apierrors.NewInternalError(fmt.Errorf("this pod has more than one PodDisruptionBudget, which the eviction subresource does not support"))
	}
	budget := budgets[0]
	if budget.Status.DisruptionsAllowed <= 0 {
		refusal := apierrors.NewTooManyRequests("Cannot evict pod as it would violate the pod's disruption budget.", 0)
		refusal.ErrStatus.Details.Causes = []metav1.StatusCause{{
			Type: policyv1.DisruptionBudgetCause,
			Message: fmt.Sprintf("The disruption budget %s needs %d healthy pods and has %d currently",
				budget.Name, budget.Status.DesiredHealthy, budget.Status.CurrentHealthy),
		}}
		return refusal
	}
	Edit(c, budget, func(b *policyv1.PodDisruptionBudget) { b.Status.DisruptionsAllowed-- })
	return c.Delete(current, nil)
}

// BudgetsOver lists the PodDisruptionBudgets that select the Pod.
func (c *Cluster) BudgetsOver(pod *corev1.Pod) []*policyv1.PodDisruptionBudget {
	var over []*policyv1.PodDisruptionBudget
	for _, b := range c.Budgets() {
		if b.Namespace != pod.Namespace {
			continue
		}
		if c.Selects(b, pod.Labels) {
			over = append(over, b)
		}
	}
	return over
}

// mostSelectors is how many are kept ready; beyond that they are made anew.
const mostSelectors = 1024

// Selects tells whether the budget selects Pods of its namespace that have these labels.
func (c *Cluster) Selects(budget *policyv1.PodDisruptionBudget, of map[string]string) bool {
	stated := budget.Spec.Selector
	selector, known := c.selectors[stated]
	if !known {
		var err error
		if selector, err = metav1.LabelSelectorAsSelector(stated); err != nil {
			selector = labels.Nothing()
		}
		if len(c.selectors) >= mostSelectors || c.selectors == nil {
			c.selectors = map[*metav1.LabelSelector]labels.Selector{}
		}
		c.selectors[stated] = selector
	}
	return selector.Matches(labels.Set(of))
}

func conflict(kind Kind, key Key, err error) error {
	return apierrors.NewConflict(kinds[kind].resource, key.Name, err)
}

func (c *Cluster) invalid(kind Kind, key Key, faults ...*field.Error) error {
	group := schema.GroupKind{Group: kinds[kind].resource.Group, Kind: kinds[kind].name}
	return apierrors.NewInvalid(group, key.Name, faults)
}

// unprocessable is the answer to a JSON patch that does not apply: Invalid, and without a cause.
func unprocessable(err error) error {
	return apierrors.NewGenericServerResponse(http.StatusUnprocessableEntity, "", schema.GroupResource{}, "", err.Error(), 0, false)
}

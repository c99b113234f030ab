// SPDX-License-Identifier: Apache-2.0

package effects

// Reason describes the Events of one reason for the people who read them (§4.2).
type Reason struct {
	Name string
	// Kinds of the objects that the Event is about. One about a NodeClaim that is gone stands on its NodePool.
	Kinds    []string
	Severity Severity
	// Meaning is a sentence: what has happened, or what lasts.
	Meaning string
}

// Reasons lists every reason of an Event but the findings, which are told by their own code.
func Reasons() []Reason {
	pool, claim, either := []string{"NodePool"}, []string{"NodeClaim"}, []string{"NodePool", "NodeClaim"}
	return []Reason{
		{ReasonRotationStarted, pool, Normal, "A rotation has begun; its replacement comes first."},
		{ReasonRotationCompleted, pool, Normal, "The old NodeClaim is gone and its replacement stands."},
		{ReasonForcefulFallback, pool, Warning, "A node is drained without a replacement: its deadline is closer than a rotation takes."},
		{ReasonPolicyConflict, pool, Warning, "Policies of equal specificity tie for the NodePool, which is not rotated."},
		{ReasonGovernanceLost, pool, Warning, "A rotation was taken back because no valid policy governs the NodePool any more."},
		{ReasonDrainStuck, pool, Warning, "A drain is overdue; the message names what holds it."},
		{ReasonInsufficientHeadroom, pool, Warning, "The NodePool's limits leave no room for a replacement, so that no rotation begins."},
		{ReasonFreezeUnreadable, pool, Warning, "The freeze cannot be read; the NodePool counts as frozen."},
		{ReasonAnnotationUnreadable, either, Warning, "An annotation cannot be read; the message says what it is taken to mean."},
		{ReasonNodeUnknown, claim, Warning, "The node is due, but its Node is not there, or not labelled as one of the NodePool: no rotation of it can begin."},
		{ReasonLabelUnknown, claim, Warning, "The Node has no value of a label that its replacement is to share: the replacement may come up wherever the NodePool allows."},
		{ReasonPlaceholderInvalid, pool, Warning, "No placeholder can be made as the policy asks for it; nothing is done for the NodePool."},
		{ReasonWriteRefused, pool, Warning, "The API server refuses a write for good: a permission is missing or a policy of the cluster forbids it."},
		{ReasonShortLead, claim, Warning, "The node's life is too short for its chances; it is rotated at the earliest one, unless a fatal finding stops its NodePool."},
		{ReasonRotationFailed, claim, Warning, "The replacement did not stand within readyTimeout, and all was put back; or a sweep met a rotation that no NodePool knows of. Tried again after the backoff."},
		{ReasonRotationExpired, claim, Warning, "Another hand deleted the NodeClaim before its replacement stood."},
		{ReasonSurgeUnschedulable, claim, Warning, "The placeholder found no node; the message is the scheduler's."},
		{ReasonSurgeClamped, claim, Normal, "The placeholder asks for less than the Pods do: no more than a new node can hold."},
		{ReasonSurgeClampBand, claim, Warning, "The placeholder asks for so much less that the Pods may not fit the replacement."},
		{ReasonSurgeClampRefused, claim, Warning, "The Pods ask for a resource that a new node does not have; the rotation will be rolled back."},
	}
}

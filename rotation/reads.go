// SPDX-License-Identifier: Apache-2.0

package rotation

// What a guard or an effect declares that it reads of a Snapshot, in the words that people are shown. Names of objects
// are no reading: every sentence may carry them. What was concluded before the pass decides, findings and selection, is
// a reading of its own.
const (
	ReadClock      = "clock"
	ReadSettings   = "installation settings"
	ReadGovernance = "governing policy"
	ReadTerms      = "policy terms"
	ReadWindows    = "policy windows"
	ReadFindings   = "findings"
	ReadSelection  = "candidate selection"

	ReadAnchor       = "NodePool active-rotation"
	ReadAnchoredOn   = "NodePool anchored-on"
	ReadMirror       = "NodePool active-rotation-state"
	ReadDrainingAt   = "NodePool draining-at"
	ReadSurgeWait    = "NodePool surge-wait"
	ReadMode         = "NodePool rotation-mode"
	ReadLastRotation = "NodePool last-rotation-at"
	ReadLastFailure  = "NodePool last-failure-at"
	ReadFreeze       = "NodePool freeze"
	ReadPoolLimits   = "NodePool limits and usage"
	ReadPoolTemplate = "NodePool template"

	ReadClaims           = "NodeClaims of the pool"
	ReadClaimDeletion    = "NodeClaim deletionTimestamp"
	ReadClaimAge         = "NodeClaim creationTimestamp"
	ReadClaimExpiry      = "NodeClaim expireAfter"
	ReadClaimGrace       = "NodeClaim terminationGracePeriod"
	ReadClaimReady       = "NodeClaim Ready"
	ReadClaimNode        = "NodeClaim nodeName"
	ReadClaimAllocatable = "NodeClaim allocatable"
	ReadClaimKind        = "NodeClaim requirements"
	ReadClaimState       = "NodeClaim state"
	ReadStartedAt        = "NodeClaim started-at"
	ReadFailedAt         = "NodeClaim failed-at"
	ReadRetryCount       = "NodeClaim retry-count"
	ReadSurgeClaim       = "NodeClaim surge-claim"
	ReadReleasedAt       = "NodeClaim released-at"

	ReadNodes       = "Nodes"
	ReadPlaceholder = "placeholder Pod"
	ReadPods        = "Pods on the Nodes"
	ReadUnbound     = "Pods without a Node"
	ReadBudgets     = "PodDisruptionBudgets"
)

// What an effect declares that it needs: where it is not there, the effect writes nothing.
const (
	NeedSubject = "an anchored NodeClaim, or a candidate"
	NeedClaim   = "the old NodeClaim"
	NeedNode    = "the old Node"
	NeedHost    = "a Node that the placeholder is bound to"
	NeedPod     = "a placeholder Pod"
	NeedInduced = "a NodeClaim that the attempt induced"
	NeedAnchor  = "an anchor, or what is left of one"
	NeedMarkers = "a Node with our markers"
)

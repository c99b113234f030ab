// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// RotationPolicy says when and how the nodes of the NodePools it selects are
// rotated before they expire (§5.4).
//
// A NodePool is governed by the policy whose selector matches it with the most
// label constraints. A tie is an error and stops the rotation of that NodePool;
// a NodePool that no policy matches is left alone.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Cluster,shortName=rotpol
// +kubebuilder:metadata:labels="app.kubernetes.io/managed-by=Helm"
// +kubebuilder:metadata:annotations="meta.helm.sh/release-name=noderotation"
// +kubebuilder:metadata:annotations="meta.helm.sh/release-namespace=noderotation-system"
// +kubebuilder:printcolumn:name="Ready",type="string",JSONPath=".status.conditions[?(@.type=='Ready')].status",description="Whether the policy is valid and uncontested."
// +kubebuilder:printcolumn:name="Reason",type="string",JSONPath=".status.conditions[?(@.type=='Ready')].reason",description="Accepted, Invalid or Conflict."
// +kubebuilder:printcolumn:name="Pools",type="integer",JSONPath=".status.matchedNodePools",description="NodePools that this policy governs."
// +kubebuilder:printcolumn:name="Rotating",type="integer",JSONPath=".status.rotatingNodePools",description="Governed NodePools with a rotation in flight."
// +kubebuilder:printcolumn:name="K",type="integer",JSONPath=".spec.minRotationChances",priority=1,description="Rotation chances that each node must get."
// +kubebuilder:printcolumn:name="Threshold",type="string",JSONPath=".spec.ageThreshold",priority=1,description="The age at which a node is due; auto derives it."
// +kubebuilder:printcolumn:name="Fallback",type="boolean",JSONPath=".spec.surge.forcefulFallback.enabled",priority=1,description="Whether the surge-less fallback is allowed."
// +kubebuilder:printcolumn:name="Next-Window",type="string",JSONPath=".status.nextWindow",priority=1,description="When the next window opens that is not open yet."
// +kubebuilder:printcolumn:name="Age",type="date",JSONPath=".metadata.creationTimestamp"
// +kubebuilder:printcolumn:name="Message",type="string",JSONPath=".status.conditions[?(@.type=='Ready')].message",priority=1,description="Why the policy is in force, or why not."
type RotationPolicy struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitzero"`

	// Spec is what the operator wants.
	// +required
	Spec RotationPolicySpec `json:"spec"`

	// Status is what the controller observes. No rotation decision reads it.
	// +optional
	Status RotationPolicyStatus `json:"status,omitzero"`
}

// RotationPolicyList is a list of RotationPolicy.
//
// +kubebuilder:object:root=true
type RotationPolicyList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitzero"`
	Items           []RotationPolicy `json:"items"`
}

// RotationPolicySpec is the configuration of one policy (§5.4).
//
// Fields with a default are pointers wherever an explicit zero differs from
// leaving the field out: zero is then sent to the API server, which rejects
// it, instead of being dropped and defaulted. The methods of RotationPolicy
// return the values in effect.
type RotationPolicySpec struct {
	// NodePoolSelector selects the NodePools that this policy may govern, by
	// their labels. The empty selector is the catch-all: it matches every
	// NodePool and loses to any policy that names a label.
	//
	// +required
	// +kubebuilder:validation:XValidation:rule="!has(self.matchExpressions) || self.matchExpressions.all(e, e.operator in ['In', 'NotIn', 'Exists', 'DoesNotExist'])",message="an operator of matchExpressions must be In, NotIn, Exists or DoesNotExist"
	// +kubebuilder:validation:XValidation:rule="!has(self.matchExpressions) || self.matchExpressions.all(e, (e.operator in ['In', 'NotIn']) == (has(e.values) && size(e.values) > 0))",message="In and NotIn need values in matchExpressions; Exists and DoesNotExist take none"
	NodePoolSelector metav1.LabelSelector `json:"nodePoolSelector"`

	// AgeThreshold is the age at which a node is due for rotation: "auto"
	// derives it from expireAfter, the maintenance windows and
	// minRotationChances; a positive Go duration such as "240h" overrides that.
	//
	// +optional
	// +kubebuilder:default=auto
	AgeThreshold AgeThreshold `json:"ageThreshold,omitempty"`

	// MinRotationChances is the number of maintenance windows that each node
	// must live to see between becoming due and expiring. 1 to 250; with 1,
	// a single missed window ends in Karpenter's forceful expiration.
	//
	// +optional
	// +kubebuilder:default=2
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=250
	MinRotationChances *int32 `json:"minRotationChances,omitempty"`

	// MaintenanceWindows are the times at which a rotation may start; their
	// union counts. A rotation that has started runs on past their closing.
	//
	// +required
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	MaintenanceWindows []MaintenanceWindow `json:"maintenanceWindows"`

	// Surge says how a node is replaced: its replacement first, then the drain.
	//
	// +optional
	// +kubebuilder:default={}
	Surge Surge `json:"surge,omitzero"`

	// PrePull is reserved for a later version and can't be enabled in this one.
	//
	// +optional
	// +kubebuilder:default={}
	PrePull PrePull `json:"prePull,omitzero"`
}

// AgeThreshold is "auto" or a positive Go duration.
//
// +kubebuilder:validation:MaxLength=32
// +kubebuilder:validation:Pattern=`^(auto|([0-9]+(\.[0-9]+)?(h|m|s|ms|us|µs|ns))+)$`
// +kubebuilder:validation:XValidation:rule="self == 'auto' || duration(self) > duration('0s')",message="ageThreshold must be \"auto\" or a Go duration greater than zero, such as \"240h\""
type AgeThreshold string

// AgeThresholdAuto has the threshold derived from the schedule (§3.2).
const AgeThresholdAuto AgeThreshold = "auto"

// MaintenanceWindow is a time of day on some days of the week, on the wall
// clock of one time zone (§3.1). Start is inside the window, End is not. An End
// before Start lies on the following day; the window then belongs to the day
// it starts on.
//
// +kubebuilder:validation:XValidation:rule="self.start != self.end",message="start and end must differ; for a whole day use start \"00:00\" and end \"24:00\""
type MaintenanceWindow struct {
	// Timezone is an IANA time zone name such as "Asia/Tokyo" or "UTC". Daylight
	// saving is followed exactly.
	//
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:XValidation:rule="self != 'Local'",message="timezone must be an IANA name such as \"Asia/Tokyo\": \"Local\" would depend on where the controller runs"
	Timezone string `json:"timezone"`

	// Days are the days of the week on which the window starts.
	//
	// +required
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=7
	Days []Day `json:"days"`

	// Start is the time of day at which the window opens, "00:00" to "23:59".
	//
	// +required
	// +kubebuilder:validation:MaxLength=5
	// +kubebuilder:validation:Pattern=`^([01][0-9]|2[0-3]):[0-5][0-9]$`
	Start string `json:"start"`

	// End is the time of day at which the window closes, "00:00" to "24:00".
	//
	// +required
	// +kubebuilder:validation:MaxLength=5
	// +kubebuilder:validation:Pattern=`^(([01][0-9]|2[0-3]):[0-5][0-9]|24:00)$`
	End string `json:"end"`
}

// Day is a day of the week by its three-letter English name.
//
// +kubebuilder:validation:Enum=Mon;Tue;Wed;Thu;Fri;Sat;Sun
type Day string

// The days of the week.
const (
	Monday    Day = "Mon"
	Tuesday   Day = "Tue"
	Wednesday Day = "Wed"
	Thursday  Day = "Thu"
	Friday    Day = "Fri"
	Saturday  Day = "Sat"
	Sunday    Day = "Sun"
)

// Surge configures one rotation and the pauses between rotations (§3.3, §5.2).
type Surge struct {
	// MaxUnavailable is the number of rotations in flight per NodePool, fixed
	// at 1 in this version.
	//
	// +optional
	// +kubebuilder:default=1
	// +kubebuilder:validation:Enum=1
	MaxUnavailable *int32 `json:"maxUnavailable,omitempty"`

	// ReadyTimeout is how long the replacement may take to become ready before
	// the rotation is rolled back. Greater than zero.
	//
	// +optional
	// +kubebuilder:default="15m"
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:Pattern=`^(0|([0-9]+(\.[0-9]+)?(h|m|s|ms|us|µs|ns))+)$`
	// +kubebuilder:validation:XValidation:rule="duration(self) > duration('0s')",message="readyTimeout must be a Go duration greater than zero, such as \"15m\""
	ReadyTimeout *metav1.Duration `json:"readyTimeout,omitempty"`

	// CooldownAfter is the pause of a NodePool after a completed rotation. Zero
	// means no pause.
	//
	// +optional
	// +kubebuilder:default="10m"
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:Pattern=`^(0|([0-9]+(\.[0-9]+)?(h|m|s|ms|us|µs|ns))+)$`
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('0s')",message="cooldownAfter must be a Go duration of zero or more, such as \"10m\""
	CooldownAfter *metav1.Duration `json:"cooldownAfter,omitempty"`

	// FailurePause is the pause of a NodePool after a failed rotation. Greater
	// than zero; unset, it is the longer of 10m and cooldownAfter.
	//
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:Pattern=`^(0|([0-9]+(\.[0-9]+)?(h|m|s|ms|us|µs|ns))+)$`
	// +kubebuilder:validation:XValidation:rule="duration(self) > duration('0s')",message="failurePause must be a Go duration greater than zero, such as \"10m\""
	FailurePause *metav1.Duration `json:"failurePause,omitempty"`

	// DrainEstimate is how long a drain is expected to take. It feeds the
	// throughput forecast only. Greater than zero; unset, it is the shorter of
	// the NodePool's terminationGracePeriod and 10m.
	//
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:Pattern=`^(0|([0-9]+(\.[0-9]+)?(h|m|s|ms|us|µs|ns))+)$`
	// +kubebuilder:validation:XValidation:rule="duration(self) > duration('0s')",message="drainEstimate must be a Go duration greater than zero, such as \"10m\""
	DrainEstimate *metav1.Duration `json:"drainEstimate,omitempty"`

	// ProvisioningEstimate is how long a replacement is expected to take to
	// become ready. It feeds the throughput forecast only. Greater than zero;
	// unset, it is the shorter of readyTimeout and 5m.
	//
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:Pattern=`^(0|([0-9]+(\.[0-9]+)?(h|m|s|ms|us|µs|ns))+)$`
	// +kubebuilder:validation:XValidation:rule="duration(self) > duration('0s')",message="provisioningEstimate must be a Go duration greater than zero, such as \"5m\""
	ProvisioningEstimate *metav1.Duration `json:"provisioningEstimate,omitempty"`

	// RetryBackoff is how long a node whose rotation failed is left alone. It
	// doubles with each further failure, up to eight times its value. Greater
	// than zero.
	//
	// +optional
	// +kubebuilder:default="30m"
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:Pattern=`^(0|([0-9]+(\.[0-9]+)?(h|m|s|ms|us|µs|ns))+)$`
	// +kubebuilder:validation:XValidation:rule="duration(self) > duration('0s')",message="retryBackoff must be a Go duration greater than zero, such as \"30m\""
	RetryBackoff *metav1.Duration `json:"retryBackoff,omitempty"`

	// MatchNodeRequirements names the node labels that the replacement shares
	// with the node it replaces.
	//
	// +optional
	// +kubebuilder:default={}
	MatchNodeRequirements MatchNodeRequirements `json:"matchNodeRequirements,omitzero"`

	// ForcefulFallback allows a node to be drained without a replacement when
	// its deadline is too near for a full rotation.
	//
	// +optional
	// +kubebuilder:default={}
	ForcefulFallback ForcefulFallback `json:"forcefulFallback,omitzero"`
}

// MatchNodeRequirements names the node labels whose values the placeholder
// takes over from the candidate (§3.3). A nil list is defaulted, an empty one
// is kept.
type MatchNodeRequirements struct {
	// Required are the label keys that the replacement must match. An explicit
	// empty list requires none.
	//
	// +optional
	// +listType=set
	// +kubebuilder:default={"topology.kubernetes.io/zone","kubernetes.io/arch","karpenter.sh/capacity-type"}
	// +kubebuilder:validation:MaxItems=16
	Required []LabelKey `json:"required,omitzero"`

	// Preferred are the label keys that the replacement should match if it can.
	//
	// +optional
	// +listType=set
	// +kubebuilder:default={}
	// +kubebuilder:validation:MaxItems=16
	Preferred []LabelKey `json:"preferred,omitzero"`
}

// LabelKey is the key of a node label. The host name is excluded: the
// replacement is another host, and Karpenter refuses a Pod that requires one.
//
// +kubebuilder:validation:MaxLength=317
// +kubebuilder:validation:Pattern=`^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$`
// +kubebuilder:validation:XValidation:rule="self != 'kubernetes.io/hostname'",message="kubernetes.io/hostname can't be replicated: a replacement is another host, and Karpenter refuses a Pod that requires a host name"
type LabelKey string

// ForcefulFallback configures the surge-less fallback (§3.6).
type ForcefulFallback struct {
	// Enabled allows the fallback. It still waits for a maintenance window and
	// still respects PodDisruptionBudgets up to the termination grace period.
	//
	// +optional
	// +kubebuilder:default=false
	Enabled bool `json:"enabled,omitempty"`
}

// PrePull is reserved for pulling images onto the replacement ahead of the drain.
type PrePull struct {
	// Enabled must be false in this version.
	//
	// +optional
	// +kubebuilder:default=false
	// +kubebuilder:validation:XValidation:rule="!self",message="prePull is not available in this version; leave it disabled"
	Enabled bool `json:"enabled,omitempty"`
}

// ConditionReady is the condition that says whether a policy is in force.
const ConditionReady = "Ready"

// The reasons of the Ready condition (§5.4). ReasonInvalid takes precedence
// over ReasonConflict.
const (
	// ReasonAccepted: valid and uncontested. Ready is True.
	ReasonAccepted = "Accepted"
	// ReasonInvalid: it failed validation at reconcile time. Ready is False.
	ReasonInvalid = "Invalid"
	// ReasonConflict: another policy selects a NodePool with the same
	// specificity. Ready is False.
	ReasonConflict = "Conflict"
)

// RotationPolicyStatus is what the controller last observed of a policy (§5.4).
type RotationPolicyStatus struct {
	// ObservedGeneration is the generation of the spec that this status is about.
	//
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// MatchedNodePools is the number of NodePools that this policy governs.
	//
	// +optional
	MatchedNodePools int32 `json:"matchedNodePools"`

	// RotatingNodePools is the number of governed NodePools with a rotation in
	// flight.
	//
	// +optional
	RotatingNodePools int32 `json:"rotatingNodePools"`

	// NextWindow is when the next window opens that is not open yet; absent
	// where none does.
	//
	// +optional
	NextWindow *metav1.Time `json:"nextWindow,omitempty"`

	// NodePools says how each NodePool that this policy governs stands, the
	// first hundred by name.
	//
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=100
	NodePools []NodePoolStatus `json:"nodePools,omitempty"`

	// OmittedNodePools is the number of governed NodePools that nodePools has no
	// room for.
	//
	// +optional
	OmittedNodePools int32 `json:"omittedNodePools,omitempty"`

	// Conditions holds the Ready condition.
	//
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// NodePoolStatus is how one NodePool stood when the controller last looked at
// it. It is written anew when that has changed, and not as time goes by.
type NodePoolStatus struct {
	// Name of the NodePool.
	//
	// +required
	Name string `json:"name"`

	// Phase is the state of its rotation, in the table's word; idle when none is
	// in flight, absent where it cannot be told.
	//
	// +optional
	Phase string `json:"phase,omitempty"`

	// Candidates is the number of its NodeClaims that are eligible for rotation.
	//
	// +optional
	Candidates int32 `json:"candidates"`

	// BlockedBy is the guard that keeps it from starting a rotation; absent
	// while one is in flight.
	//
	// +optional
	BlockedBy string `json:"blockedBy,omitempty"`

	// Message says in words what keeps it from starting, or what the rotation in
	// flight waits for.
	//
	// +optional
	// +kubebuilder:validation:MaxLength=512
	Message string `json:"message,omitempty"`

	// NextWindow is when the next window opens that is not open yet; absent
	// where none does.
	//
	// +optional
	NextWindow *metav1.Time `json:"nextWindow,omitempty"`

	// NextDeadline is the earliest time at which Karpenter expires one of its
	// NodeClaims; absent where it expires none.
	//
	// +optional
	NextDeadline *metav1.Time `json:"nextDeadline,omitempty"`
}

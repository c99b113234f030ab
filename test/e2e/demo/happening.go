// SPDX-License-Identifier: Apache-2.0

package main

import "time"

// happening is one thing that the story tells.
type happening struct {
	// At is the time since the demonstration began.
	At time.Duration
	// Actor is whose doing it is: the subject of Text.
	Actor actor
	// What names the sort of happening, for machines.
	What what
	// Object is what it happened to, as Kind/name; empty where there is no single one.
	Object string
	// Text says it to a person. Together with Actor it is a sentence.
	Text string
	// Tally is what has been counted so far; only progress and the verdict carry one.
	Tally *tally
	// Breaches are the promises that were not kept; only a bad verdict has any.
	Breaches []string
}

// actor is one of those who take part.
type actor string

const (
	demonstration actor = "demo"
	noderotation  actor = "noderotation"
	karpenter     actor = "karpenter"
	kubernetes    actor = "kubernetes"
)

// what is a sort of happening. The values are what `-o json` prints.
type what string

const (
	demoBegins        what = "DemoBegins"
	clusterStarting   what = "ClusterStarting"
	clusterReady      what = "ClusterReady"
	fleetApplied      what = "FleetApplied"
	fleetStands       what = "FleetStands"
	controllerRuns    what = "ControllerRuns"
	policyApplied     what = "PolicyApplied"
	windowOpen        what = "WindowOpen"
	claimSelected     what = "NodeClaimSelected"
	nodeProtected     what = "NodeProtected"
	nodeReleased      what = "NodeReleased"
	placeholderAsks   what = "PlaceholderCreated"
	placeholderRuns   what = "PlaceholderRunning"
	placeholderGone   what = "PlaceholderDeleted"
	placeholderLost   what = "PlaceholderLost"
	claimLaunched     what = "NodeClaimLaunched"
	claimSurplus      what = "NodeClaimSurplus"
	nodeReady         what = "NodeReady"
	nodeNotReady      what = "NodeNotReady"
	drainBegins       what = "DrainBegins"
	podEvicted        what = "PodEvicted"
	podDeleted        what = "PodDeleted"
	podReady          what = "PodReady"
	claimGone         what = "NodeClaimGone"
	rotationFailed    what = "RotationFailed"
	rotationExpired   what = "RotationExpired"
	rotationCompleted what = "RotationCompleted"
	rotationReleased  what = "RotationReleased"
	progress          what = "Progress"
	verdictGood       what = "VerdictGood"
	verdictBad        what = "VerdictBad"
)

// by begins the telling of what somebody did to an object.
func by(who actor, did what, object, text string) happening {
	return happening{Actor: who, What: did, Object: object, Text: text}
}

// SPDX-License-Identifier: Apache-2.0

package simulate

import (
	"fmt"
	"slices"

	"sigs.k8s.io/controller-runtime/pkg/client"
	karpenterv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"noderotation.io/noderotation/rotation"
)

// StandIn leaves each object of the cluster out for which a file has one of the same kind and name, so that a change can
// be tried on the cluster as it is. It tells of each in a sentence. Files must have been read, and objects added, before.
func (in *Input) StandIn() []string {
	return slices.Concat(
		standIn(in, "RotationPolicy", &in.Policies), standIn(in, "NodePool", &in.Pools), standIn(in, "NodeClaim", &in.Claims),
		standIn(in, "Node", &in.Nodes), standIn(in, "Pod", &in.Pods), standIn(in, "PodDisruptionBudget", &in.Budgets),
	)
}

// LeaveOut leaves the cluster's NodeClaims out that no NodePool of the input owns: standalone ones, and those whose NodePool
// has just been deleted. Their Nodes stay, as Nodes that nobody replaces. It tells of each in a sentence. Files must have
// been read, and objects added, before.
func (in *Input) LeaveOut() []string {
	var told []string
	in.Claims = slices.DeleteFunc(in.Claims, func(claim *karpenterv1.NodeClaim) bool {
		pool := claim.Labels[rotation.LabelNodePool]
		switch {
		case in.at(claim) != (Place{}) || in.pool(pool) != nil:
			return false
		case pool == "":
			told = append(told, fmt.Sprintf("NodeClaim %s of the cluster belongs to no NodePool, and is left out", claim.Name))
		default:
			told = append(told, fmt.Sprintf("NodeClaim %s of the cluster belongs to NodePool %s, which is not there, and is left out", claim.Name, pool))
		}
		return true
	})
	return told
}

func standIn[O client.Object](in *Input, kind string, objects *[]O) []string {
	files := map[client.ObjectKey]string{}
	for _, object := range *objects {
		if at := in.at(object); at != (Place{}) {
			files[client.ObjectKeyFromObject(object)] = at.File
		}
	}
	var told []string
	*objects = slices.DeleteFunc(*objects, func(object O) bool {
		key := client.ObjectKeyFromObject(object)
		file, named := files[key]
		if !named || in.at(object) != (Place{}) {
			return false
		}
		name := key.Name
		if key.Namespace != "" {
			name = key.String()
		}
		told = append(told, fmt.Sprintf("%s %s of %s stands in for the cluster's", kind, name, file))
		return true
	})
	return told
}

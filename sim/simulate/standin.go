// SPDX-License-Identifier: Apache-2.0

package simulate

import (
	"fmt"
	"slices"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// StandIn leaves each object of the cluster out for which a file has one of the same kind and name, so that a change can
// be tried on the cluster as it is. It tells of each in a sentence. Files must have been read, and objects added, before.
func (in *Input) StandIn() []string {
	return slices.Concat(
		standIn(in, "RotationPolicy", &in.Policies), standIn(in, "NodePool", &in.Pools), standIn(in, "NodeClaim", &in.Claims),
		standIn(in, "Node", &in.Nodes), standIn(in, "Pod", &in.Pods), standIn(in, "PodDisruptionBudget", &in.Budgets),
	)
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

// SPDX-License-Identifier: Apache-2.0

package effects_test

import (
	"maps"

	"noderotation.io/noderotation/effects"
	"noderotation.io/noderotation/rotation"
)

// cluster is what of a pool a rotation may change, as the API server would show it: the world in which actions are
// carried out here, without the effects' own idea of how things are afterwards.
type cluster struct {
	Pool         map[string]string
	Claims       map[string]map[string]string
	Deleting     map[string]bool
	Nodes        map[string]map[string]string
	Cordoned     map[string]bool
	Placeholders map[string]bool
}

// shown is the cluster that a snapshot was read from. A placeholder on its way out is as good as gone.
func shown(s rotation.Snapshot) cluster {
	c := cluster{
		Pool: kept(s.Pool.Annotations), Claims: map[string]map[string]string{}, Deleting: map[string]bool{},
		Nodes: map[string]map[string]string{}, Cordoned: map[string]bool{}, Placeholders: map[string]bool{},
	}
	for _, claim := range s.Claims {
		c.Claims[claim.Name], c.Deleting[claim.Name] = kept(claim.Annotations), claim.Deleting()
	}
	for name, node := range s.Nodes {
		c.Nodes[name], c.Cordoned[name] = kept(node.Annotations), node.Spec.Unschedulable
	}
	for _, pod := range s.Placeholders {
		if pod.DeletionTimestamp == nil {
			c.Placeholders[pod.Name] = true
		}
	}
	return c
}

// carryOut does what the actions say.
func (c cluster) carryOut(actions []effects.Action) cluster {
	for _, action := range actions {
		switch a := action.(type) {
		case effects.PatchPool:
			c.Pool = changed(c.Pool, a.Change)
		case effects.PatchClaim:
			c.Claims[a.Claim.Name] = changed(c.Claims[a.Claim.Name], a.Change)
		case effects.PatchNode:
			c.Nodes[a.Node.Name] = changed(c.Nodes[a.Node.Name], a.Change)
			if a.Unschedulable != nil {
				c.Cordoned[a.Node.Name] = *a.Unschedulable
			}
		case effects.CreatePod:
			c.Placeholders[a.Pod.Name] = true
		case effects.DeletePod:
			delete(c.Placeholders, a.Name)
		case effects.DeleteClaim:
			c.Deleting[a.Claim.Name] = true
		}
	}
	return c
}

func changed(annotations map[string]string, change effects.Change) map[string]string {
	out := kept(annotations)
	for _, key := range change.Remove {
		delete(out, key)
	}
	maps.Copy(out, change.Set)
	return out
}

// kept is a copy; no annotations are the same as none.
func kept(annotations map[string]string) map[string]string {
	out := map[string]string{}
	maps.Copy(out, annotations)
	return out
}

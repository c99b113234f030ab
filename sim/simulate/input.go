// SPDX-License-Identifier: Apache-2.0

package simulate

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	karpenterv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"noderotation.io/noderotation/api/v1alpha1"
)

// Input is what a run is made of.
type Input struct {
	Policies []*v1alpha1.RotationPolicy
	Pools    []*karpenterv1.NodePool
	Claims   []*karpenterv1.NodeClaim
	Nodes    []*corev1.Node
	Pods     []*corev1.Pod
	Budgets  []*policyv1.PodDisruptionBudget
	Fleets   []*Fleet
	Troubles []*Trouble
	// Simulation is how the run goes; the zero one where no document says so.
	Simulation Simulation

	// places says where the objects stand.
	places map[any]Place
}

// Read adds the YAML documents of a file to the input. The error joins an InputError for each thing that is wrong.
func (in *Input) Read(file string, data []byte) error {
	var wrong problems
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	for {
		var document yaml.Node
		err := decoder.Decode(&document)
		if errors.Is(err, io.EOF) {
			return wrong.err()
		}
		if err != nil {
			line, message := syntaxError(err)
			wrong.add(Place{file, line}, "this is no YAML: %s", message)
			return wrong.err()
		}
		if len(document.Content) == 1 && document.Content[0].Tag != "!!null" {
			in.read(file, document.Content[0], &wrong)
		}
	}
}

// syntaxError takes the line out of what the parser says.
func syntaxError(err error) (line int, message string) {
	message = strings.TrimPrefix(err.Error(), "yaml: ")
	if _, scanErr := fmt.Sscanf(message, "line %d: ", &line); scanErr == nil {
		_, message, _ = strings.Cut(message, ": ")
	}
	return line, message
}

// read takes one document in, or each item of a list.
func (in *Input) read(file string, node *yaml.Node, wrong *problems) {
	at := Place{file, node.Line}
	var head struct {
		APIVersion string      `yaml:"apiVersion"`
		Kind       string      `yaml:"kind"`
		Items      []yaml.Node `yaml:"items"`
	}
	if node.Kind != yaml.MappingNode || node.Decode(&head) != nil || head.Kind == "" {
		wrong.add(at, "this document has no kind; begin it with apiVersion and kind, or with `kind: Fleet`")
		return
	}
	group, _, _ := strings.Cut(head.APIVersion, "/")
	if strings.HasSuffix(head.Kind, "List") && head.Items != nil {
		for i := range head.Items {
			in.read(file, &head.Items[i], wrong)
		}
		return
	}
	if known, is := taken[head.Kind]; is && (group == known.group || (group == "" && known.bare)) {
		known.take(in, file, node, wrong)
		return
	}
	if (group == "" && head.APIVersion != "v1") || group == v1alpha1.GroupName || group == karpenterGroup {
		wrong.add(at, "kind %s of apiVersion %q is not known here; the kinds are RotationPolicy (%s), NodePool and NodeClaim (karpenter.sh/v1), "+
			"Node and Pod (v1), PodDisruptionBudget (policy/v1), Fleet, Trouble and Simulation", head.Kind, head.APIVersion, v1alpha1.GroupVersion)
	}
	// Other kinds are no part of a simulation: a dump of a cluster may have them.
}

const karpenterGroup = "karpenter.sh"

// taking is how documents of a kind are taken in. A bare one needs no apiVersion.
type taking struct {
	group string
	bare  bool
	take  func(in *Input, file string, node *yaml.Node, wrong *problems)
}

// taken are the kinds of documents. What only an API server writes may have keys that are not known here.
var taken = map[string]taking{
	"RotationPolicy": {v1alpha1.GroupName, false, func(in *Input, file string, node *yaml.Node, wrong *problems) {
		take(in, &in.Policies, file, node, true, wrong)
	}},
	"NodePool": {karpenterGroup, false, (*Input).readPool},
	"NodeClaim": {karpenterGroup, false, func(in *Input, file string, node *yaml.Node, wrong *problems) {
		take(in, &in.Claims, file, node, false, wrong)
	}},
	"Node": {"v1", false, func(in *Input, file string, node *yaml.Node, wrong *problems) {
		take(in, &in.Nodes, file, node, false, wrong)
	}},
	"Pod": {"v1", false, func(in *Input, file string, node *yaml.Node, wrong *problems) {
		take(in, &in.Pods, file, node, false, wrong)
	}},
	"PodDisruptionBudget": {"policy", false, func(in *Input, file string, node *yaml.Node, wrong *problems) {
		take(in, &in.Budgets, file, node, false, wrong)
	}},
	"Fleet": {v1alpha1.GroupName, true, func(in *Input, file string, node *yaml.Node, wrong *problems) {
		if f := take(in, &in.Fleets, file, node, true, wrong); f != nil {
			f.place = in.at(f)
		}
	}},
	"Trouble": {v1alpha1.GroupName, true, func(in *Input, file string, node *yaml.Node, wrong *problems) {
		if t := take(in, &in.Troubles, file, node, true, wrong); t != nil {
			t.place = in.at(t)
		}
	}},
	"Simulation": {v1alpha1.GroupName, true, func(in *Input, file string, node *yaml.Node, wrong *problems) {
		var runs []*Simulation
		if s := take(in, &runs, file, node, true, wrong); s != nil {
			in.Simulation = *s
			if s.For != nil && *s.For == 0 {
				wrong.add(in.at(s), "the Simulation lasts 0s; set for to how long it lasts, or leave it out")
			}
		}
	}},
}

// readPool takes a NodePool in, with the default that Karpenter's CRD gives to what it leaves out.
func (in *Input) readPool(file string, node *yaml.Node, wrong *problems) {
	pool := take(in, &in.Pools, file, node, true, wrong)
	if pool != nil && find(node, "spec", "template", "spec", "expireAfter") == nil {
		pool.Spec.Template.Spec.ExpireAfter = karpenterv1.NillableDuration{Duration: ptr.To(karpenterExpireAfter)}
	}
}

// karpenterExpireAfter is the default of a NodePool's expireAfter, as Karpenter's CRD has it.
const karpenterExpireAfter = 720 * time.Hour

// find follows keys into a document; nil when one is missing.
func find(node *yaml.Node, keys ...string) *yaml.Node {
	for _, key := range keys {
		i := slices.IndexFunc(node.Content, func(n *yaml.Node) bool { return n.Value == key })
		if node.Kind != yaml.MappingNode || i < 0 || i+1 >= len(node.Content) {
			return nil
		}
		node = node.Content[i+1]
	}
	return node
}

// take decodes a document into a new object of the list's type; nil when it cannot.
func take[T any](in *Input, list *[]*T, file string, node *yaml.Node, strict bool, wrong *problems) *T {
	before := len(*wrong)
	strictness{file, strict, wrong}.check(node, reflect.TypeFor[T](), "")
	if len(*wrong) > before {
		return nil
	}
	object := new(T)
	var value any
	err := node.Decode(&value)
	if err == nil {
		var data []byte
		if data, err = json.Marshal(value); err == nil {
			err = json.Unmarshal(data, object)
		}
	}
	if err != nil {
		wrong.add(Place{file, node.Line}, "this document cannot be read: %v", err)
		return nil
	}
	in.put(object, Place{file, node.Line})
	*list = append(*list, object)
	return object
}

func (in *Input) put(object any, at Place) {
	if in.places == nil {
		in.places = map[any]Place{}
	}
	in.places[object] = at
}

func (in *Input) at(object any) Place { return in.places[object] }

// Add adds objects that were read from a cluster.
func (in *Input) Add(objects ...client.Object) {
	for _, object := range objects {
		switch o := object.(type) {
		case *v1alpha1.RotationPolicy:
			in.Policies = append(in.Policies, o)
		case *karpenterv1.NodePool:
			in.Pools = append(in.Pools, o)
		case *karpenterv1.NodeClaim:
			in.Claims = append(in.Claims, o)
		case *corev1.Node:
			in.Nodes = append(in.Nodes, o)
		case *corev1.Pod:
			in.Pods = append(in.Pods, o)
		case *policyv1.PodDisruptionBudget:
			in.Budgets = append(in.Budgets, o)
		}
	}
}

func (in *Input) pool(name string) *karpenterv1.NodePool {
	i := slices.IndexFunc(in.Pools, func(p *karpenterv1.NodePool) bool { return p.Name == name })
	if i < 0 {
		return nil
	}
	return in.Pools[i]
}

// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"fmt"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"pgregory.net/rapid"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"noderotation.io/noderotation/rotation"
)

// What the cache leaves out of a Pod or Node decides nothing: every conclusion that the rotation draws from the trimmed
// objects is the one that it would draw from the whole ones.
func TestNothingIsDecidedByWhatIsTrimmed(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		whole := aSurge(t)
		trimmed := trimmedCopy(whole)
		for name, conclude := range conclusions {
			if of, from := conclude(whole), conclude(trimmed); !reflect.DeepEqual(of, from) {
				t.Fatalf("%s\nof the whole objects:   %v\nof the trimmed objects: %v", name, of, from)
			}
		}
	})
}

var conclusions = map[string]func(rotation.Snapshot) []any{
	"Size": func(s rotation.Snapshot) []any {
		z := rotation.Size(s)
		return []any{amounts(z.Wanted), amounts(z.Requests), z.Clamped, z.Refused, z.BandExceeded}
	},
	"NewPlaceholder": func(s rotation.Snapshot) []any {
		pod, _, err := rotation.NewPlaceholder(s)
		return []any{pod.Name, pod.Spec.Affinity, amounts(pod.Spec.Containers[0].Resources.Requests), err}
	},
	"Induced": func(s rotation.Snapshot) []any {
		claim, found, reason := rotation.Induced(s)
		return []any{claim.Name, found, reason}
	},
	"Reapable": func(s rotation.Snapshot) []any {
		claim, ok, reason := rotation.Reapable(s)
		return []any{claim.Name, ok, reason}
	},
	"SurgeReady": func(s rotation.Snapshot) []any {
		host, reason := rotation.SurgeReady(s)
		return []any{host != nil, reason}
	},
	"SurgeHost, SurgeClaim": func(s rotation.Snapshot) []any {
		claim, ok := rotation.SurgeClaim(s)
		return []any{rotation.SurgeHost(s), claim, ok}
	},
	"DrainHolders":  func(s rotation.Snapshot) []any { return []any{rotation.DrainHolders(s)} },
	"SurgeHeadroom": func(s rotation.Snapshot) []any { ok, why := rotation.SurgeHeadroom(s); return []any{ok, why} },
	"ProtectedByOperator": func(s rotation.Snapshot) []any {
		return []any{rotation.ProtectedByOperator(s.Nodes["old"]), rotation.ProtectedByOperator(s.Nodes["new"])}
	},
	"IsPlaceholder, the indexes": func(s rotation.Snapshot) []any {
		var out []any
		for _, pod := range everyPod(s) {
			out = append(out, rotation.IsPlaceholder(pod), byNode(pod), bySurgeFor(pod))
		}
		return out
	},
}

func everyPod(s rotation.Snapshot) []*corev1.Pod {
	pods := append(append([]*corev1.Pod{}, s.Placeholders...), s.Unbound...)
	return append(append(pods, s.PodsByNode["old"]...), s.PodsByNode["new"]...)
}

func amounts(list corev1.ResourceList) map[string]int64 {
	out := map[string]int64{}
	for name, quantity := range list {
		out[string(name)] = quantity.MilliValue()
	}
	return out
}

func trimmedCopy(s rotation.Snapshot) rotation.Snapshot {
	out := s
	cached := new(packing).transform
	out.Nodes, out.PodsByNode = map[string]*corev1.Node{}, map[string][]*corev1.Pod{}
	for name, node := range s.Nodes {
		out.Nodes[name] = trimmed(node.DeepCopy(), trimNode)
	}
	for node, pods := range s.PodsByNode {
		out.PodsByNode[node] = trimmedAll(pods, cached)
	}
	out.Placeholders, out.Unbound = trimmedAll(s.Placeholders, cached), trimmedAll(s.Unbound, cached)
	return out
}

func trimmedAll(pods []*corev1.Pod, cached func(any) (any, error)) []*corev1.Pod {
	out := make([]*corev1.Pod, len(pods))
	for i, pod := range pods {
		out[i] = trimmed(pod.DeepCopy(), cached)
	}
	return out
}

func trimmed[O client.Object](object O, trim func(any) (any, error)) O {
	slim, err := trim(object)
	if err != nil {
		panic(err)
	}
	return unpacked(slim).(O)
}

var trimDay = time.Date(2026, time.January, 9, 18, 0, 0, 0, time.UTC)

// aSurge is a rotation of "old" with the placeholder, if any, on "new", and whatever Pods there may be.
func aSurge(t *rapid.T) rotation.Snapshot {
	s := rotation.Snapshot{
		Now:  trimDay,
		Pool: rotation.Pool{Object: rotation.Object{Name: "api"}, Annotations: map[string]string{rotation.KeyActiveRotation: "old"}, Taints: someTaints(t)},
		Claims: []*rotation.Claim{
			{Object: rotation.Object{Name: "new"}, Created: trimDay.Add(-time.Minute), NodeName: rapid.SampledFrom([]string{"", "new"}).Draw(t, "registered")},
			{Object: rotation.Object{Name: "old"}, NodeName: "old", Allocatable: someAmounts(t), Annotations: map[string]string{
				rotation.KeyState: "pending", rotation.KeyStartedAt: rotation.FormatStamp(trimDay.Add(-2 * time.Minute))}},
		},
		Nodes:      map[string]*corev1.Node{"old": someNode(t, "old"), "new": someNode(t, "new")},
		PodsByNode: map[string][]*corev1.Pod{"old": somePods(t, "old"), "new": somePods(t, "new")},
		Unbound:    somePods(t, ""),
		Budgets: []*policyv1.PodDisruptionBudget{{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "shop"},
			Spec: policyv1.PodDisruptionBudgetSpec{Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "shop"}}}}},
	}
	if !rapid.Bool().Draw(t, "placeholder") {
		return s
	}
	pod, _, err := rotation.NewPlaceholder(s)
	if err != nil {
		panic(err)
	}
	pod.Spec.Tolerations = append(pod.Spec.Tolerations, admitted()...)
	pod.Spec.NodeName = rapid.SampledFrom([]string{"", "new"}).Draw(t, "bound")
	pod.Status = someStatus(t)
	s.Placeholders = []*corev1.Pod{pod}
	if rapid.Bool().Draw(t, "the surge stands") {
		host := s.Nodes["new"]
		host.Spec.Taints, host.Spec.Unschedulable = s.Pool.Taints, false
		host.Status.Conditions[1].Status = corev1.ConditionTrue
		pod.Spec.NodeName, pod.Status.Phase = "new", corev1.PodRunning
	}
	return s
}

// admitted are the tolerations that admission gives to nearly every Pod.
func admitted() []corev1.Toleration {
	return []corev1.Toleration{
		{Key: corev1.TaintNodeNotReady, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute, TolerationSeconds: ptr.To[int64](300)},
		{Key: corev1.TaintNodeUnreachable, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute, TolerationSeconds: ptr.To[int64](300)},
	}
}

var taintEffects = []corev1.TaintEffect{corev1.TaintEffectNoSchedule, corev1.TaintEffectNoExecute, corev1.TaintEffectPreferNoSchedule}

func someTaints(t *rapid.T) []corev1.Taint {
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) corev1.Taint {
		return corev1.Taint{
			Key:   rapid.SampledFrom([]string{"team", "gpu", "karpenter.sh/disrupted"}).Draw(t, "key"),
			Value: rapid.SampledFrom([]string{"", "shop"}).Draw(t, "value"), Effect: rapid.SampledFrom(taintEffects).Draw(t, "effect"),
		}
	}), 0, 2).Draw(t, "taints")
}

func someTolerations(t *rapid.T) []corev1.Toleration {
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) corev1.Toleration {
		return corev1.Toleration{
			Key:      rapid.SampledFrom([]string{"team", "gpu", "karpenter.sh/disrupted", ""}).Draw(t, "key"),
			Operator: rapid.SampledFrom([]corev1.TolerationOperator{"", corev1.TolerationOpEqual, corev1.TolerationOpExists}).Draw(t, "operator"),
			Value:    rapid.SampledFrom([]string{"", "shop"}).Draw(t, "value"),
			Effect:   rapid.SampledFrom(append(taintEffects, "")).Draw(t, "effect"),
		}
	}), 0, 2).Draw(t, "tolerations")
}

func someAmounts(t *rapid.T) corev1.ResourceList {
	list := corev1.ResourceList{}
	for _, name := range []string{"cpu", "memory", "nvidia.com/gpu"} {
		if amount := rapid.Int64Range(0, 4).Draw(t, name); amount > 0 {
			list[corev1.ResourceName(name)] = *resource.NewQuantity(amount, resource.DecimalSI)
		}
	}
	return list
}

func someNode(t *rapid.T, name string) *corev1.Node {
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{rotation.LabelNodePool: "api", corev1.LabelHostname: name}}}
	node.Annotations = map[string]string{rotation.KeyDoNotDisrupt: rapid.SampledFrom([]string{"true", "false"}).Draw(t, "protected"), "theirs": "1"}
	node.Spec.Taints, node.Spec.Unschedulable = someTaints(t), rapid.Bool().Draw(t, "cordoned")
	node.Spec.PodCIDR = "10.0.0.0/24"
	node.Status.Allocatable, node.Status.Capacity = someAmounts(t), someAmounts(t)
	node.Status.Images = []corev1.ContainerImage{{Names: []string{"shop:1"}}}
	node.Status.Conditions = []corev1.NodeCondition{
		{Type: corev1.NodeMemoryPressure, Status: corev1.ConditionFalse},
		{Type: corev1.NodeReady, Status: rapid.SampledFrom([]corev1.ConditionStatus{corev1.ConditionTrue, corev1.ConditionUnknown}).Draw(t, "ready")},
	}
	return node
}

func somePods(t *rapid.T, node string) []*corev1.Pod {
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) *corev1.Pod { return somePod(t, node) }), 0, 3).Draw(t, "pods on "+node)
}

func somePod(t *rapid.T, node string) *corev1.Pod {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Namespace: "shop", Name: fmt.Sprintf("pod-%d", rapid.IntRange(0, 1<<30).Draw(t, "name")), UID: "u",
		CreationTimestamp: metav1.NewTime(trimDay.Add(time.Duration(rapid.IntRange(-5, 5).Draw(t, "minute")) * time.Minute)),
		Labels:            map[string]string{"app": rapid.SampledFrom([]string{"shop", "other"}).Draw(t, "app")},
		Annotations:       map[string]string{"checksum/config": "f00"},
		ManagedFields:     []metav1.ManagedFieldsEntry{{Manager: "kubelet"}},
		GenerateName:      "pod-",
	}}
	if owner := rapid.SampledFrom([]string{"", "apps/v1 ReplicaSet", "apps/v1 StatefulSet", "apps/v1 DaemonSet", "v1 Node"}).Draw(t, "owner"); owner != "" {
		version, kind, _ := strings.Cut(owner, " ")
		pod.OwnerReferences = []metav1.OwnerReference{{APIVersion: version, Kind: kind, Name: "o", UID: "o", BlockOwnerDeletion: ptr.To(true)}}
	}
	if key := rapid.SampledFrom([]string{"", corev1.MirrorPodAnnotationKey, rotation.KeyDoNotDisrupt}).Draw(t, "annotation"); key != "" {
		pod.Annotations[key] = rapid.SampledFrom([]string{"true", "10m"}).Draw(t, "value")
	}
	if rapid.Bool().Draw(t, "ending") {
		pod.DeletionTimestamp = &metav1.Time{Time: trimDay.Add(time.Duration(rapid.IntRange(-1, 1).Draw(t, "ends")) * time.Minute)}
		pod.Finalizers = rapid.SampledFrom([][]string{nil, {"shop/drain"}}).Draw(t, "finalizers")
	}
	pod.Spec = corev1.PodSpec{
		NodeName: node, ServiceAccountName: "shop", Tolerations: append(someTolerations(t), admitted()...),
		NodeSelector: rapid.SampledFrom([]map[string]string{nil, {corev1.LabelHostname: "old"}, {rotation.LabelNodePool: "web"}}).Draw(t, "selector"),
		Affinity:     someAffinity(t), Overhead: someAmounts(t),
		Containers:     []corev1.Container{someContainer(t, nil), someContainer(t, nil)},
		InitContainers: []corev1.Container{someContainer(t, nil), someContainer(t, ptr.To(corev1.ContainerRestartPolicyAlways))},
		Volumes:        []corev1.Volume{{Name: "config"}},
	}
	if rapid.Bool().Draw(t, "pod-level resources") {
		pod.Spec.Resources = &corev1.ResourceRequirements{Requests: someAmounts(t)}
	}
	if rapid.Bool().Draw(t, "gated") {
		pod.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: "quota"}}
	}
	pod.Status = someStatus(t)
	return pod
}

func someContainer(t *rapid.T, restart *corev1.ContainerRestartPolicy) corev1.Container {
	return corev1.Container{
		Name: "c", Image: "shop:1", RestartPolicy: restart, Env: []corev1.EnvVar{{Name: "A", Value: "1"}},
		Resources: corev1.ResourceRequirements{Requests: someAmounts(t), Limits: someAmounts(t)},
	}
}

func someAffinity(t *rapid.T) *corev1.Affinity {
	host := rapid.SampledFrom([]string{"", "old", "new"}).Draw(t, "host")
	if host == "" {
		return nil
	}
	return &corev1.Affinity{
		NodeAffinity: &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{
			NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchExpressions: []corev1.NodeSelectorRequirement{
				{Key: corev1.LabelHostname, Operator: corev1.NodeSelectorOpIn, Values: []string{host}}}}},
		}},
		PodAntiAffinity: &corev1.PodAntiAffinity{},
	}
}

func someStatus(t *rapid.T) corev1.PodStatus {
	return corev1.PodStatus{
		Phase:             rapid.SampledFrom([]corev1.PodPhase{corev1.PodPending, corev1.PodRunning, corev1.PodSucceeded}).Draw(t, "phase"),
		NominatedNodeName: rapid.SampledFrom([]string{"", "new"}).Draw(t, "nominated"),
		StartTime:         rapid.SampledFrom([]*metav1.Time{nil, {Time: trimDay.Add(-time.Hour)}, {Time: trimDay.Add(-time.Minute)}}).Draw(t, "start"),
		PodIP:             "10.0.0.1",
		Conditions: []corev1.PodCondition{
			{Type: corev1.PodInitialized, Status: corev1.ConditionTrue},
			{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Message: "0/3 nodes are available"},
			{Type: corev1.PodReady, Status: rapid.SampledFrom([]corev1.ConditionStatus{corev1.ConditionTrue, corev1.ConditionFalse}).Draw(t, "pod ready")},
		},
	}
}

// aTypicalPod is one of a Deployment's, as an API server returns it: two containers, probes, volumes, managed fields.
func aTypicalPod(i int) *corev1.Pod {
	container := func(name string) corev1.Container {
		return corev1.Container{
			Name: name, Image: "registry.example.com/shop/" + name + ":v1.42.0", Command: []string{"/bin/" + name},
			Env:            []corev1.EnvVar{{Name: "LOG_LEVEL", Value: "info"}, {Name: "POD_NAME", Value: "x"}, {Name: "REGION", Value: "eu"}},
			VolumeMounts:   []corev1.VolumeMount{{Name: "config", MountPath: "/etc/shop"}, {Name: "kube-api-access", MountPath: "/var/run/secrets"}},
			LivenessProbe:  &corev1.Probe{PeriodSeconds: 10},
			ReadinessProbe: &corev1.Probe{PeriodSeconds: 10},
			Resources: corev1.ResourceRequirements{
				Requests: corev1.ResourceList{"cpu": resource.MustParse("250m"), "memory": resource.MustParse("512Mi")},
				Limits:   corev1.ResourceList{"memory": resource.MustParse("512Mi")},
			},
		}
	}
	deployment := fmt.Sprintf("shop-%d", i/10)
	name := fmt.Sprintf("%s-7d9f6c5b8d-%05d", deployment, i)
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "shop", Name: name, GenerateName: deployment + "-7d9f6c5b8d-", UID: types.UID(fmt.Sprintf("6f1c2f0e-8d8e-4a54-9d0b-%012d", i)),
			ResourceVersion: fmt.Sprint(100000 + i), CreationTimestamp: metav1.NewTime(trimDay),
			Labels: map[string]string{"app.kubernetes.io/name": deployment, "app.kubernetes.io/instance": deployment, "app.kubernetes.io/version": "v1.42.0",
				"pod-template-hash": "7d9f6c5b8d", "team": "shop"},
			Annotations: map[string]string{"checksum/config": strings.Repeat("f0", 32), "prometheus.io/scrape": "true"},
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: deployment + "-7d9f6c5b8d",
				UID: types.UID(fmt.Sprintf("0b1c2f0e-8d8e-4a54-9d0b-%012d", i/10)), Controller: ptr.To(true), BlockOwnerDeletion: ptr.To(true)}},
			ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "kubelet", FieldsV1: metav1.NewFieldsV1(strings.Repeat("x", 1500))}},
		},
		Spec: corev1.PodSpec{
			NodeName: fmt.Sprintf("ip-10-0-%d-%d.eu-central-1.compute.internal", i/10/250, i/10%250), Tolerations: admitted(), ServiceAccountName: "shop",
			NodeSelector: map[string]string{rotation.LabelNodePool: "api"}, Containers: []corev1.Container{container("shop"), container("proxy")},
			Volumes: []corev1.Volume{{Name: "config"}, {Name: "kube-api-access"}},
		},
		Status: corev1.PodStatus{
			Phase: corev1.PodRunning, StartTime: &metav1.Time{Time: trimDay}, PodIP: "10.0.0.1", HostIP: "10.0.0.2",
			Conditions: []corev1.PodCondition{
				{Type: corev1.PodReadyToStartContainers, Status: corev1.ConditionTrue}, {Type: corev1.PodInitialized, Status: corev1.ConditionTrue},
				{Type: corev1.PodReady, Status: corev1.ConditionTrue}, {Type: corev1.ContainersReady, Status: corev1.ConditionTrue},
				{Type: corev1.PodScheduled, Status: corev1.ConditionTrue},
			},
			ContainerStatuses: []corev1.ContainerStatus{{Name: "shop", ImageID: strings.Repeat("i", 90)}, {Name: "proxy", ImageID: strings.Repeat("i", 90)}},
		},
	}
}

// BenchmarkCachedPod measures what one Pod of five thousand costs in the cache, as bytes/pod, beside what it would cost
// whole. Each comes from the wire, so that none shares memory with another.
func BenchmarkCachedPod(b *testing.B) {
	const count = 5000
	wire := make([][]byte, count)
	for i := range wire {
		body, err := aTypicalPod(i).Marshal()
		if err != nil {
			b.Fatal(err)
		}
		wire[i] = body
	}
	whole := func(pod any) (any, error) { return pod, nil }
	for name, transform := range map[string]func(any) (any, error){"whole": whole, "trimmed": trimPod, "packed": new(packing).transform} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				before := heap()
				pods := make([]any, count)
				for i, body := range wire {
					pod := &corev1.Pod{}
					if err := pod.Unmarshal(body); err != nil {
						b.Fatal(err)
					}
					pods[i], _ = transform(pod)
				}
				b.ReportMetric(float64(heap()-before)/count, "bytes/pod")
				runtime.KeepAlive(pods)
			}
		})
	}
}

func heap() uint64 {
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return stats.HeapAlloc
}

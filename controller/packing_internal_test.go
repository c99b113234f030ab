// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"runtime"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"pgregory.net/rapid"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

func packedBy(t testing.TB, k *packing, pod *corev1.Pod) *packedPod {
	t.Helper()
	kept, err := k.transform(pod)
	if err != nil {
		t.Fatal(err)
	}
	return kept.(*packedPod)
}

// What goes into the cache comes out of it, of whatever Pods beside it.
func TestAPackedPodIsTheTrimmedOne(t *testing.T) {
	var k packing
	rapid.Check(t, func(t *rapid.T) {
		pod := somePod(t, "old")
		plain := trimmed(pod.DeepCopy(), trimPod)
		kept, err := k.transform(pod)
		if err != nil {
			t.Fatal(err)
		}
		packed := kept.(*packedPod)
		if whole := packed.whole(); !equality.Semantic.DeepEqual(whole, plain) {
			t.Fatalf("packing changes the Pod:\n%+v\nwithout it is\n%+v", whole, plain)
		}
		if again, err := k.transform(packed); err != nil || again != any(packed) {
			t.Fatalf("a packed Pod is packed again: %v, %v", again, err)
		}
		for name, told := range map[string]func(client.Object) any{
			"name": func(o client.Object) any { return o.GetName() }, "namespace": func(o client.Object) any { return o.GetNamespace() },
			"UID": func(o client.Object) any { return o.GetUID() }, "version": func(o client.Object) any { return o.GetResourceVersion() },
			"creation": func(o client.Object) any { return o.GetCreationTimestamp() }, "deletion": func(o client.Object) any { return o.GetDeletionTimestamp() },
			"labels": func(o client.Object) any { return o.GetLabels() }, "annotations": func(o client.Object) any { return o.GetAnnotations() },
			"owners": func(o client.Object) any { return o.GetOwnerReferences() }, "finalizers": func(o client.Object) any { return o.GetFinalizers() },
		} {
			if is, was := told(packed), told(plain); !equality.Semantic.DeepEqual(is, was) {
				t.Fatalf("the %s of a packed Pod is %v, of the Pod %v", name, is, was)
			}
		}
	})
}

func TestPodsOfAWorkloadShareWhatTheyHaveAlike(t *testing.T) {
	var k packing
	one, other, stranger := packedBy(t, &k, aTypicalPod(0)), packedBy(t, &k, aTypicalPod(1)), packedBy(t, &k, aTypicalPod(10))
	if one.alike != other.alike || one.labels != other.labels {
		t.Error("Pods of one workload are to share all but what is each one's own")
	}
	if one.alike == stranger.alike || one.labels == stranger.labels {
		t.Error("Pods of two workloads share what differs")
	}
	if one.name == other.name || one.uid == other.uid || one.version == other.version {
		t.Error("what is each Pod's own is shared")
	}
}

// A cluster whose workloads come and go is not remembered for ever.
func TestWhatNobodyHasAnyMoreIsForgotten(t *testing.T) {
	var k packing
	kept := packedBy(t, &k, aTypicalPod(0))
	for i := range 100 {
		packedBy(t, &k, aTypicalPod(10*i+10))
	}
	remembered := func() []int {
		runtime.GC()
		return []int{k.alike.size(), k.labels.size()}
	}
	// The cleanups run on their own, some time after a collection.
	NewWithT(t).Eventually(remembered, "30s", "1ms").Should(Equal([]int{1, 1}))
	if again := packedBy(t, &k, aTypicalPod(1)); again.alike != kept.alike {
		t.Error("what is still held was forgotten")
	}
}

func (s *shared[T]) size() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.have)
}

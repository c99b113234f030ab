// SPDX-License-Identifier: Apache-2.0

package fleet_test

import (
	"reflect"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"

	"noderotation.io/noderotation/internal/fleet"
	"noderotation.io/noderotation/rotation"
	"noderotation.io/noderotation/window"
)

// A change in place goes unnoticed where clone and original share memory, so nothing may be shared.
func TestCloneSharesNothing(t *testing.T) {
	s := fleet.In("the surge is ready", fleet.WithPolicy(fleet.OfAgeAt(fleet.Day)), fleet.Limited([]string{"cpu=4"}, []string{"cpu=1"}),
		fleet.PoolThat(func(p *rotation.Pool) {
			p.Labels, p.TemplateLabels = map[string]string{"a": "b"}, map[string]string{"a": "b"}
			p.Taints = []corev1.Taint{{Key: "dedicated"}}
			p.Requirements = []rotation.Requirement{{Key: "k", Operator: "In", Values: []string{"v"}}}
		}))
	s.Budgets = []*policyv1.PodDisruptionBudget{{}}
	s.Cleared = map[string]string{"a": "b"}
	s.Claims[0].Allocatable = fleet.Amounts("cpu=4")
	s.Claims[0].Requirements = []rotation.Requirement{{Key: "k", Operator: "In", Values: []string{"v"}}}
	clone := fleet.Clone(s)
	if !reflect.DeepEqual(s, clone) {
		t.Fatal("the clone differs from the original")
	}
	shares(t, "Snapshot", reflect.ValueOf(s), reflect.ValueOf(clone))
}

// shares fails the test for every pointer, map and slice that two equal values have in common.
func shares(t *testing.T, path string, a, b reflect.Value) {
	t.Helper()
	if immutable := a.Type() == reflect.TypeFor[time.Time]() || a.Type() == reflect.TypeFor[window.Schedule](); immutable {
		return
	}
	if slices.Contains([]reflect.Kind{reflect.Pointer, reflect.Map, reflect.Slice}, a.Kind()) {
		if a.IsNil() || (a.Kind() == reflect.Slice && a.Len() == 0) {
			return
		}
		if a.UnsafePointer() == b.UnsafePointer() {
			t.Errorf("%s is shared", path)
			return
		}
	}
	switch a.Kind() {
	case reflect.Pointer:
		shares(t, path, a.Elem(), b.Elem())
	case reflect.Map:
		for _, key := range a.MapKeys() {
			shares(t, path+"["+key.String()+"]", a.MapIndex(key), b.MapIndex(key))
		}
	case reflect.Slice:
		for i := range a.Len() {
			shares(t, path+"[]", a.Index(i), b.Index(i))
		}
	case reflect.Struct:
		for i := range a.NumField() {
			shares(t, path+"."+a.Type().Field(i).Name, a.Field(i), b.Field(i))
		}
	default:
	}
}

func TestSituationsCoverEveryState(t *testing.T) {
	met := map[string]bool{}
	for _, situation := range fleet.Situations() {
		state, err := rotation.State(situation.Snapshot)
		if err != nil {
			t.Errorf("%s: %v", situation.Name, err)
		}
		met[state] = true
	}
	for _, state := range []string{rotation.StateIdle, rotation.StatePending, rotation.StateDraining, rotation.StateFailed, rotation.StateExpired} {
		if !met[state] {
			t.Errorf("no situation is in state %s", state)
		}
	}
}

// SPDX-License-Identifier: Apache-2.0

package machine_test

import (
	"encoding/json"
	"fmt"
	"regexp"
	"testing"
	"time"

	"pgregory.net/rapid"

	"noderotation.io/noderotation/machine"
)

// requeues is the pattern that a schema has for `requeue`.
func requeues(t rapid.TB, bound time.Duration) *regexp.Regexp {
	text, err := machine.Schema(nil, nil, machine.SchemaOptions{Bound: bound})
	if err != nil {
		t.Fatal(err)
	}
	var schema struct {
		Defs map[string]struct{ Pattern string } `json:"$defs"`
	}
	if err := json.Unmarshal(text, &schema); err != nil {
		t.Fatal(err)
	}
	return regexp.MustCompile(schema.Defs["requeue"].Pattern)
}

func TestASchemaKnowsTheBoundOfRequeue(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		bound := rapid.IntRange(1, 12_000).Draw(t, "bound")
		pattern := requeues(t, time.Duration(bound)*time.Second)
		n := rapid.OneOf(rapid.IntRange(0, 2*bound), rapid.SampledFrom([]int{bound, bound + 1, 1, 0})).Draw(t, "n")
		if matches := pattern.MatchString(fmt.Sprintf("%ds", n)); matches != (n >= 1 && n <= bound) {
			t.Errorf("%ds under a bound of %ds: %t, by %s", n, bound, matches, pattern)
		}
		if matches := pattern.MatchString(fmt.Sprintf("%dm", n)); matches != (n >= 1 && n*60 <= bound) {
			t.Errorf("%dm under a bound of %ds: %t, by %s", n, bound, matches, pattern)
		}
	})
}

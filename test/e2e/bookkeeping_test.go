// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"regexp"
	"strings"

	"noderotation.io/noderotation/rotation"
)

// bookkeepingOn are the annotations that the controller alone writes on objects of the kind (§5.3).
func bookkeepingOn(kind string) []string {
	word := regexp.MustCompile(`\b` + kind + `\b`)
	var keys []string
	for _, key := range rotation.Keys() {
		if key.Writer != "an operator" && strings.HasPrefix(key.Name, "noderotation.io/") && word.MatchString(key.Target) {
			keys = append(keys, key.Name)
		}
	}
	return keys
}

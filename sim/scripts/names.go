// SPDX-License-Identifier: Apache-2.0

package scripts

import (
	"fmt"
	"regexp"
	"strings"
)

// names calls the claims that Karpenter adds by their pool and a number: api+1. Their real names are of no meaning, and
// change with everything that happens before them.
type names struct {
	aliases map[string]string
	reals   map[string]string
	counts  map[string]int
}

func newNames() *names {
	return &names{aliases: map[string]string{}, reals: map[string]string{}, counts: map[string]int{}}
}

// add names a claim of a pool.
func (n *names) add(claim, pool string) {
	n.counts[pool]++
	alias := fmt.Sprintf("%s+%d", pool, n.counts[pool])
	n.aliases[claim], n.reals[alias] = alias, claim
}

// real is the name that an alias stands for.
func (n *names) real(name string) string {
	if claim, known := n.reals[name]; known {
		return claim
	}
	return name
}

// alias is the name by which a script calls the claim.
func (n *names) alias(name string) string {
	if alias, known := n.aliases[name]; known {
		return alias
	}
	return name
}

var nameLike = regexp.MustCompile(`[a-z0-9]+(-[a-z0-9]+)+`)

// in puts the aliases into a text.
func (n *names) in(text string) string {
	return nameLike.ReplaceAllStringFunc(text, func(word string) string {
		for claim, alias := range n.aliases {
			if word == claim || strings.HasSuffix(word, "-"+claim) {
				return strings.TrimSuffix(word, claim) + alias
			}
			if strings.HasPrefix(word, claim+"-") {
				return alias + strings.TrimPrefix(word, claim)
			}
		}
		return word
	})
}

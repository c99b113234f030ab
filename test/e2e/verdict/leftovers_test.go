// SPDX-License-Identifier: Apache-2.0

package verdict_test

import (
	"testing"

	. "github.com/onsi/gomega"

	"noderotation.io/noderotation/test/e2e/record"
	"noderotation.io/noderotation/test/e2e/verdict"
)

func TestLeftovers(t *testing.T) {
	for name, story := range map[string]struct {
		left   record.Object
		breach string
	}{
		"stamps that outlive a rotation":     {left: pool("last-rotation-at=x", "last-failure-at=y", "freeze=z")},
		"the record of a failure":            {left: claim(oldClaim, "state=failed", "failed-at=x", "retry-count=1")},
		"an operator's protection":           {left: nodeOf(oldClaim, "protected")},
		"an operator's cordon":               {left: cordoned(nodeOf(oldClaim))},
		"an anchor":                          {left: pool("active-rotation=" + oldClaim), breach: "active-rotation=web-old"},
		"a mirror without its anchor":        {left: pool("active-rotation-state=draining"), breach: "active-rotation-state=draining"},
		"a companion of the anchor":          {left: pool("surge-wait=3s"), breach: "surge-wait=3s"},
		"a pairing on a Node":                {left: nodeOf(oldClaim, "surge-for=x"), breach: "surge-for=x"},
		"a protection of ours":               {left: nodeOf(oldClaim, "do-not-disrupt-owned=true"), breach: "do-not-disrupt-owned=true"},
		"a cordon of ours":                   {left: nodeOf(oldClaim, "cordoned=true"), breach: "cordoned=true"},
		"a placeholder":                      {left: placeholder(newClaim, "1"), breach: "placeholder surge-for-web-old stands for web-old"},
		"a pending claim":                    {left: claim(oldClaim, "state=pending"), breach: "web-old is pending"},
		"a draining claim":                   {left: claim(oldClaim, "state=draining"), breach: "web-old is draining"},
		"the start of an attempt":            {left: claim(oldClaim, "state=failed", "started-at=x"), breach: "started-at=x"},
		"the surge of an attempt that ended": {left: claim(oldClaim, "state=failed", "surge-claim=x"), breach: "surge-claim=x"},
	} {
		t.Run(name, func(t *testing.T) {
			judged(t, verdict.Leftovers(record.NewRecording(fleet(), turns(1, story.left)).End()), story.breach)
		})
	}
}

func TestProtected(t *testing.T) {
	g := NewWithT(t)
	protected, held := verdict.Protected(record.NewRecording([]record.Object{guarded(), nodeOf(newClaim)}).End())
	g.Expect(protected).To(Equal([]string{"node-web-old"}))
	g.Expect(held).To(Equal([]string{"node-web-old"}))
	protected, held = verdict.Protected(record.NewRecording(fleet()).End())
	g.Expect(protected).To(BeEmpty())
	g.Expect(held).To(BeEmpty())
}

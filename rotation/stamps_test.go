// SPDX-License-Identifier: Apache-2.0

package rotation_test

import (
	"strconv"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"pgregory.net/rapid"

	. "noderotation.io/noderotation/internal/fleet"
	"noderotation.io/noderotation/rotation"
)

var _ = Describe("A stamp (§5.3)", func() {
	read := func(value string) rotation.Stamp { return rotation.ParseStamp(map[string]string{"at": value}, "at") }

	It("is RFC3339", func() {
		Expect(read("2026-01-10T02:00:00+09:00")).To(And(HaveField("Readable", true), HaveField("At", BeTemporally("==", Opening))))
		Expect(read("2026-01-09T17:00:00.5Z").At).To(BeTemporally("==", Opening.Add(500*time.Millisecond)))
	})
	It("is written in UTC and whole seconds", func() {
		tokyo := time.FixedZone("JST", 9*60*60)
		Expect(rotation.FormatStamp(Opening.In(tokyo).Add(999 * time.Millisecond))).To(Equal("2026-01-09T17:00:00Z"))
	})
	It("that is absent is not unreadable", func() {
		Expect(rotation.ParseStamp(nil, "at")).To(Equal(rotation.Stamp{}))
	})
	DescribeTable("that cannot be read is present all the same",
		func(value string) {
			Expect(read(value)).To(And(HaveField("Present", true), HaveField("Readable", false)))
		},
		Entry("nothing", ""), Entry("a date", "2026-01-09"), Entry("no zone", "2026-01-09T17:00:00"), Entry("seconds", "1767978000"),
		Entry("no such day", "2026-02-30T00:00:00Z"), Entry("padding", " 2026-01-09T17:00:00Z"), Entry("words", "tomorrow"),
	)
})

// What is written is read again as the same second.
func TestStampsSurviveTheirAnnotation(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		at := Opening.Add(time.Duration(rapid.Int64Range(-int64(3000*Day), int64(3000*Day)).Draw(t, "at")))
		read := rotation.ParseStamp(map[string]string{"at": rotation.FormatStamp(at)}, "at")
		if !read.Readable || !read.At.Equal(at.Truncate(time.Second)) {
			t.Errorf("%s comes back as %+v", at, read)
		}
	})
}

var _ = DescribeTable("A pause (§5.2 gates)",
	func(pause rotation.Pause, over bool, end time.Time) {
		Expect(pause.Over(Opening)).To(Equal(over))
		Expect(pause.End()).To(BeTemporally("==", end))
	},
	Entry("that never began is over", rotation.Pause{Length: time.Hour}, true, time.Time{}),
	Entry("whose beginning cannot be read is not, and nobody knows until when",
		rotation.Pause{Stamp: rotation.Stamp{Present: true}, Length: time.Hour}, false, time.Time{}),
	Entry("is not over a nanosecond before its end", pauseSince(Opening.Add(-time.Hour+1), time.Hour), false, Opening.Add(1)),
	Entry("is over at its end", pauseSince(Opening.Add(-time.Hour), time.Hour), true, Opening),
	Entry("of no length is over at once", pauseSince(Opening, 0), true, Opening),
	Entry("that begins in the future is not over", pauseSince(Opening.Add(time.Minute), 0), false, Opening.Add(time.Minute)),
)

func pauseSince(at time.Time, length time.Duration) rotation.Pause {
	return rotation.Pause{Stamp: rotation.Stamp{At: at, Present: true, Readable: true}, Length: length}
}

var _ = DescribeTable("The backoff escalates: retryBackoff · 2^(retry-count − 1), at most 8× (§3.2)",
	func(count string, times int) {
		claim := &rotation.Claim{Annotations: map[string]string{rotation.KeyFailedAt: rotation.FormatStamp(Opening), rotation.KeyRetryCount: count}}
		Expect(claim.Backoff(30 * time.Minute).End()).To(BeTemporally("==", Opening.Add(time.Duration(times)*30*time.Minute)))
	},
	Entry("a failure that was not counted", "0", 1),
	Entry("the first failure", "1", 1), Entry("the second", "2", 2), Entry("the third", "3", 4), Entry("the fourth", "4", 8),
	Entry("the fifth", "5", 8), Entry("the hundredth", "100", 8), Entry("the last that can be counted", strconv.Itoa(1<<62), 8),
)

var _ = Describe("The count of failures (§5.3)", func() {
	count := func(annotations map[string]string) (int, bool) {
		return (&rotation.Claim{Annotations: annotations}).RetryCount()
	}

	It("is 0 where it is absent", func() {
		n, readable := count(nil)
		Expect(n).To(BeZero())
		Expect(readable).To(BeTrue())
	})
	DescribeTable("keeps the backoff from being over where it cannot be read",
		func(value string) {
			annotations := map[string]string{rotation.KeyRetryCount: value}
			_, readable := count(annotations)
			Expect(readable).To(BeFalse())
			Expect((&rotation.Claim{Annotations: annotations}).Backoff(time.Minute).Over(Opening)).To(BeFalse())
			annotations[rotation.KeyFailedAt] = rotation.FormatStamp(Opening.Add(-Day))
			Expect((&rotation.Claim{Annotations: annotations}).Backoff(time.Minute).Over(Opening)).To(BeFalse())
		},
		Entry("nothing", ""), Entry("a word", "twice"), Entry("less than none", "-1"), Entry("a fraction", "1.5"), Entry("beyond counting", "99999999999999999999"),
	)
})

var _ = DescribeTable("A freeze (§3.1)",
	func(fact Fact, frozen bool) {
		s := APool(fact)
		held, _ := s.Freeze()
		Expect(held).To(Equal(frozen))
	},
	Entry("ahead holds", Frozen(time.Second), true),
	Entry("ends at its instant", Frozen(0), false),
	Entry("of the past does not hold", Frozen(-time.Hour), false),
	Entry("that cannot be read holds", PoolAnnotated(rotation.KeyFreeze, "until further notice"), true),
	Entry("that is empty holds", PoolAnnotated(rotation.KeyFreeze, ""), true),
	Entry("that is not there does not", Anchored("old"), false),
)

var _ = Describe("A freeze's reason (§3.1)", func() {
	told := func(facts ...Fact) string {
		s := APool(facts...)
		return s.FreezeReason()
	}

	It("is told on one line, and cut where it has no end", func() {
		Expect(told()).To(BeEmpty())
		Expect(told(PoolAnnotated(rotation.KeyFreezeReason, " release\n\tof the shop "))).To(Equal("release of the shop"))
		Expect(told(PoolAnnotated(rotation.KeyFreezeReason, "re\x1b[31mlease\u202e \x07of the shop"))).To(
			Equal("re[31mlease of the shop"), "nothing in it may steer a terminal")
		long := told(PoolAnnotated(rotation.KeyFreezeReason, strings.Repeat("é", 500)))
		Expect(long).To(Equal(strings.Repeat("é", rotation.MostFreezeReason-1) + "…"))
	})
})

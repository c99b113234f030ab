// SPDX-License-Identifier: Apache-2.0

package simulate_test

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"noderotation.io/noderotation/sim/simulate"
)

var _ = DescribeTable("A span may be written in days", func(text string, means time.Duration) {
	span, err := simulate.ParseSpan(text)
	Expect(err).NotTo(HaveOccurred())
	Expect(time.Duration(span)).To(Equal(means))
},
	Entry("days", "60d", 60*day), Entry("days and hours", "1d12h", 36*time.Hour), Entry("half a day", "0.5d", 12*time.Hour),
	Entry("hours", "336h", 14*day), Entry("minutes and seconds", "1m30s", 90*time.Second), Entry("nothing", "0s", time.Duration(0)),
	Entry("a century", "36500d", 36500*day))

var _ = DescribeTable("What is no span is refused", func(text string) {
	_, err := simulate.ParseSpan(text)
	Expect(err).To(MatchError(ContainSubstring("is no duration")))
},
	Entry("empty", ""), Entry("a word", "soon"), Entry("a word with a d", "friday"), Entry("below zero", "-1d"), Entry("hours below zero", "1d-3h"),
	Entry("no unit", "60"), Entry("two kinds of days", "1d2d"), Entry("more than a century", "99999d"),
	Entry("no number", "NaNd"), Entry("no end", "Infd"), Entry("more than a century of hours", "876001h"),
	Entry("more than a century in all", "36500d1h"), Entry("more than the machine can count", "36500d2562047h"))

var _ = DescribeTable("A rough duration has two units", func(d time.Duration, says string) {
	Expect(simulate.Rough(d)).To(Equal(says))
},
	Entry("days", 3*day+2*time.Hour+59*time.Minute, "3d 2h"), Entry("hours", 5*time.Hour+9*time.Minute+1, "5h 9m"),
	Entry("minutes", 41*time.Minute+10*time.Second, "41m 10s"), Entry("too late", -90*time.Minute, "-1h 30m"), Entry("none", time.Duration(0), "0s"))

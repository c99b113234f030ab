// SPDX-License-Identifier: Apache-2.0

package window

import (
	"bytes"
	"encoding/binary"
	"testing"
	"time"
)

// Two places where a zone's bounds, as the standard library tells them, do not
// bound the instant asked about, or not to one offset. The zone data is made here,
// so that the test does not depend on the edition that a machine has.
func TestStretchesOfConstantOffset(t *testing.T) {
	odd := joinsARule(t)
	for name, tc := range map[string]struct {
		at     string
		offset int64
	}{
		"before joining a rule in mid-year":                                {"2022-11-15T00:00:00Z", -6 * hour},
		"after joining it: its winter began on November's first Sunday":    {"2022-12-05T00:00:00Z", -7 * hour},
		"at the moment of joining":                                         {"2022-11-30T06:00:00Z", -7 * hour},
		"in the rule's summer":                                             {"2026-07-01T00:00:00Z", -6 * hour},
		"on a leap year's last day, the 366th of a year taken to have 365": {"2028-12-31T12:00:00Z", -7 * hour},
		"at a leap year's last second":                                     {"2028-12-31T23:59:59Z", -7 * hour},
	} {
		t.Run(name, func(t *testing.T) {
			c := cursor{zone: odd}
			instant := at(t, tc.at).Unix()
			c.seek(instant)
			if c.steady.from > instant || c.steady.to <= instant || c.offset != tc.offset {
				t.Fatalf("offset %d on %v, want %d on a stretch with %d in it", c.offset, c.steady, tc.offset, instant)
			}
			for other := instant - 90*day; other < instant+90*day; other += hour {
				_, east := time.Unix(other, 0).In(odd.location).Zone()
				if c.steady.from <= other && other < c.steady.to && int64(east) != c.offset {
					t.Fatalf("the offset is %d at %v, within a stretch of %d", east, time.Unix(other, 0).UTC(), c.offset)
				}
			}
		})
	}
}

// A yearly rule's bounds end with the year, where no clock changes.
func TestNoClockChangesAtAYearsTurn(t *testing.T) {
	c := cursor{zone: joinsARule(t)}
	if got, found := c.change(at(t, "2026-12-20T00:00:00Z").Unix(), at(t, "2027-03-14T08:59:59Z").Unix()); found {
		t.Errorf("in winter: %v", got)
	}
	spring := at(t, "2027-03-14T09:00:00Z")
	got, found := c.change(at(t, "2026-12-20T00:00:00Z").Unix(), spring.Unix())
	if !found || !got.At.Equal(spring) || got.Forward != time.Hour || got.Zone != "Test/Zone" {
		t.Errorf("in spring: %v (%v)", got, found)
	}
}

// A window is found across both places, from either side.
func TestOccurrencesAcrossOddBounds(t *testing.T) {
	odd := joinsARule(t)
	var daily []span
	for weekday := range days {
		daily = append(daily, onDay(weekday, 20*hour, 2*hour)...)
	}
	odd.week = merge(daily)
	s := Schedule{zones: []zone{odd}}
	for _, want := range []Occurrence{
		// 20:00 at -06:00 is 02:00Z, and 02:00 at -07:00 is 09:00Z: an hour more.
		{at(t, "2022-11-30T02:00:00Z"), at(t, "2022-11-30T09:00:00Z")},
		{at(t, "2028-12-31T03:00:00Z"), at(t, "2028-12-31T09:00:00Z")},
		{at(t, "2029-01-01T03:00:00Z"), at(t, "2029-01-01T09:00:00Z")},
	} {
		for now := want.Start; now.Before(want.End); now = now.Add(30 * time.Minute) {
			if got, open := s.Current(now); !open || !same(got, want) {
				t.Errorf("Current(%v) is %v (%v), want %v", now, got, open, want)
			}
		}
		if got, _ := s.Next(want.Start.Add(-time.Second)); !same(got, want) {
			t.Errorf("the next one is %v, want %v", got, want)
		}
	}
}

// joinsARule is a zone that went from -06:00 to -07:00 on 2022-11-30, as
// America/Ciudad_Juarez did, and has followed a yearly rule since.
func joinsARule(t *testing.T) zone {
	t.Helper()
	return zone{location: zoneFile{
		first:  -6 * hour,
		change: at(t, "2022-11-30T06:00:00Z").Unix(),
		second: -7 * hour,
		rule:   "MST7MDT,M3.2.0,M11.1.0",
	}.location(t)}
}

// zoneFile is a zone with a single recorded change, which follows a yearly rule
// from then on.
type zoneFile struct {
	first, second int64 // offsets before and after the change
	change        int64
	rule          string
}

// location encodes the zone as RFC 9636 (TZif, version 2) has it, and loads it.
func (z zoneFile) location(t *testing.T) *time.Location {
	t.Helper()
	var file bytes.Buffer
	put := func(values ...any) {
		for _, v := range values {
			if err := binary.Write(&file, binary.BigEndian, v); err != nil {
				t.Fatal(err)
			}
		}
	}
	header := func(transitions, types, characters int32) {
		put([]byte("TZif2"), make([]byte, 15), int32(0), int32(0), int32(0), transitions, types, characters)
	}
	header(0, 1, 1) // the version 1 block is not read, and as small as may be
	put(int32(0), uint8(0), uint8(0), uint8(0))
	header(1, 2, 8)
	put(z.change, uint8(1))
	put(int32(z.first), uint8(0), uint8(0), int32(z.second), uint8(0), uint8(4))
	put([]byte("OLD\x00NEW\x00"), []byte("\n"+z.rule+"\n"))
	location, err := time.LoadLocationFromTZData("Test/Zone", file.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	return location
}

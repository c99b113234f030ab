// SPDX-License-Identifier: Apache-2.0

package simulate

import (
	"runtime"
	"runtime/debug"
)

// How much garbage a run may leave before it is collected: so many bytes, but no more than a multiple of what it keeps.
const (
	spareMemory = 192 << 20
	usualGOGC   = 100
	mostGOGC    = 400
)

// collectLess has the garbage of a run collected less often. A run makes thousands of times what it keeps, and what it
// keeps is small: to look through that each time as much again has been made takes a quarter of the whole time. It
// returns how to have it as before. Whoever has set GOGC is obeyed.
func collectLess() (restore func()) {
	var memory runtime.MemStats
	runtime.ReadMemStats(&memory)
	percent := min(max(usualGOGC*spareMemory/max(memory.HeapAlloc, 1), usualGOGC), mostGOGC)
	before := debug.SetGCPercent(int(percent))
	if before != usualGOGC {
		debug.SetGCPercent(before)
		return func() {}
	}
	return func() { debug.SetGCPercent(before) }
}

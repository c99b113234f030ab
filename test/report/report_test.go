// SPDX-License-Identifier: Apache-2.0

package report

import (
	"os"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

func TestThePageIsOneFile(t *testing.T) {
	text, err := os.ReadFile(written(t, "healthy"))
	if err != nil {
		t.Fatal(err)
	}
	for _, outside := range []string{"http:", "https:", "<link rel=\"stylesheet", " src=", "@import", "url(h", "url(/"} {
		rest := strings.ReplaceAll(string(text), `"http://www.w3.org/2000/svg"`, "")
		if strings.Contains(rest, outside) {
			t.Errorf("the page has %q in it", outside)
		}
	}
}

func TestEveryExampleIsDrawn(t *testing.T) {
	for example, has := range map[string]struct{ bars, verdict string }{
		"healthy":       {".bar.rotated", "none expired"},
		"narrow-window": {".bar.expired", "expired"},
		"batch":         {".bar.expired", "2 expired"},
		"fallback":      {".bar.fallback", "forceful fallback"},
		"shortage":      {".failed-dot", "rolled back"},
		"dst-night":     {".bar.rotated", "none expired"},
	} {
		t.Run(example, func(t *testing.T) {
			p := opened(t, written(t, example), desk)
			if n := asked[int](p, `document.querySelectorAll("#gantt `+has.bars+`").length`); n == 0 {
				t.Errorf("the Gantt has no %s", has.bars)
			}
			if text := asked[string](p, `document.querySelector("#verdict").textContent`); !strings.Contains(text, has.verdict) {
				t.Errorf("the verdict is %q", text)
			}
			for part, selector := range map[string]string{
				"windows": "#gantt .shade", "deadlines or crosses": "#gantt .deadline-tick, #gantt .cross", "load": "#load-chart .done, #load-chart .due",
				"margins": "#margin-chart rect", "counts of transitions": ".machine .note", "rotations": "#rows tr",
			} {
				if asked[int](p, `document.querySelectorAll("`+selector+`").length`) == 0 {
					t.Errorf("there are no %s", part)
				}
			}
			p.photographed(example)
		})
	}
}

// The windows of the healthy fleet open at two in the night of Tokyo, which is the day before in UTC.
func TestWindowsAreDatedInTheirOwnZone(t *testing.T) {
	p := opened(t, written(t, "healthy"), desk)
	const dates = `[...document.querySelectorAll("#load-chart .axis")].map((l) => l.textContent).filter((l) => l.includes("-")).slice(0, 2).join(" ")`
	if shown := asked[string](p, dates); shown != "01-10 01-14" {
		t.Errorf("the first windows are dated %s; their zone has 01-10 and 01-14", shown)
	}
}

func TestNoDateOfTheLivesIsCutOff(t *testing.T) {
	for _, example := range []string{"healthy", "narrow-window", "batch", "fallback", "shortage", "dst-night"} {
		t.Run(example, func(t *testing.T) {
			p := opened(t, written(t, example), desk)
			const beyond = `(() => {
				const chart = document.querySelector("#gantt svg");
				return [...chart.querySelectorAll(".axis")].filter((l) => l.getBBox().x + l.getBBox().width > chart.viewBox.baseVal.width).map((l) => l.textContent).join();
			})()`
			if cut := asked[string](p, beyond); cut != "" {
				t.Errorf("cut off: %s", cut)
			}
			if asked[int](p, `document.querySelectorAll("#gantt .axis").length`) < 3 {
				t.Error("the lives have hardly a date")
			}
		})
	}
}

// opens is true while the trace is shown.
const opens = `document.querySelector("#trace").open`

func TestARotationsTraceOpensOnAClick(t *testing.T) {
	p := opened(t, written(t, "healthy"), desk)
	p.do(chromedp.Click("#gantt .bar.rotated"), until(opens))
	trace := asked[string](p, `document.querySelector("#trace-lines").textContent`)
	for _, line := range []string{"controller api: start (idle → pending)", "create Pod noderotation/surge-for-", "controller api: drain (pending → draining)", "controller api: drained (draining → idle)"} {
		if !strings.Contains(trace, line) {
			t.Errorf("the trace lacks %q:\n%s", line, trace)
		}
	}
	p.photographed("trace")
	p.do(chromedp.KeyEvent(kb.Escape), until("!"+opens))
}

// One bar is in the tab order; arrow keys go from bar to bar, Enter opens and Escape closes, with the focus where it was.
func TestTheFleetCanBeReadByKeyboard(t *testing.T) {
	p := opened(t, written(t, "shortage"), desk)
	inOrder := `document.querySelectorAll('#gantt .bar[tabindex="0"]').length`
	if n := asked[int](p, inOrder); n != 1 {
		t.Fatalf("%d bars are in the tab order", n)
	}
	p.do(chromedp.Focus("#pool"), chromedp.KeyEvent(kb.Tab))
	// The Gantt's scrolling box may be a stop of its own.
	if !asked[bool](p, `document.activeElement.classList.contains("bar")`) {
		p.do(chromedp.KeyEvent(kb.Tab))
	}
	focused := `document.activeElement.getAttribute("aria-label") || ""`
	first := asked[string](p, focused)
	p.do(chromedp.KeyEvent(kb.ArrowDown))
	second := asked[string](p, focused)
	if first == "" || second == "" || first == second {
		t.Fatalf("the arrow went from %q to %q", first, second)
	}
	p.do(chromedp.KeyEvent(kb.Enter), until(opens))
	p.do(chromedp.KeyEvent(kb.Escape), until("!"+opens))
	if now := asked[string](p, focused); now != second {
		t.Errorf("the focus is on %q after closing, and was on %q", now, second)
	}
	if n := asked[int](p, inOrder); n != 1 {
		t.Errorf("%d bars are in the tab order", n)
	}
}

func TestThePageFitsAPhone(t *testing.T) {
	p := opened(t, written(t, "narrow-window"), phone)
	if wide := asked[int](p, `document.documentElement.scrollWidth`); wide > int(phone.width) {
		t.Errorf("the page is %d wide on a screen of %d", wide, phone.width)
	}
	p.photographed("phone")
}

// contrast is WCAG's, of two colours as the browser computes them.
const contrast = `(a, b) => {
	const light = (c) => { const [r, g, b] = c.match(/[\d.]+/g).map((v) => { v /= 255; return v <= .03928 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4 }); return .2126 * r + .7152 * g + .0722 * b };
	const [x, y] = [light(a), light(b)].sort((p, q) => q - p);
	return (x + .05) / (y + .05);
}`

func TestThePageIsLegibleInDarkAndLight(t *testing.T) {
	file := written(t, "narrow-window")
	for name, dark := range map[string]bool{"light": false, "dark": true} {
		t.Run(name, func(t *testing.T) {
			s := desk
			s.dark = dark
			p := opened(t, file, s)
			for _, selector := range []string{"h1", ".quiet", "#verdict", ".tag", ".tiles dd", ".tiles dt"} {
				ratio := asked[float64](p, `(() => { const contrast = `+contrast+`; const e = document.querySelector("`+selector+`");
					let under = e; while (getComputedStyle(under).backgroundColor === "rgba(0, 0, 0, 0)") under = under.parentElement;
					return contrast(getComputedStyle(e).color, getComputedStyle(under).backgroundColor) })()`)
				if ratio < 4.5 {
					t.Errorf("%s has a contrast of %.1f", selector, ratio)
				}
			}
			if sum := asked[int](p, `getComputedStyle(document.body).backgroundColor.match(/\d+/g).reduce((s, v) => s + Number(v), 0)`); (sum < 384) != dark {
				t.Errorf("the ground's colours add up to %d", sum)
			}
			p.photographed(name)
		})
	}
}

// SPDX-License-Identifier: Apache-2.0

package graph_test

import (
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"noderotation.io/noderotation/machine/graph"
)

func TestATableBecomesAMermaidDiagram(t *testing.T) {
	NewWithT(t).Expect(door(t, doorTable, kinds()).Mermaid()).To(Equal(`stateDiagram-v2
    state "locked" as s1
    state "closed" as s2
    state "open" as s3
    [*] --> s1
    s1 --> s3: ▲ break-in<br/>[not key_turned,<br/>axe_swung]
    s1 --> s2: unlock<br/>[key_turned]
    s1: ↺ stay-locked<br/>[otherwise]
    s2 --> s3: push 12×<br/>[pushed]
    s2: ↺ stay-closed<br/>[otherwise]
    s3 --> s2: ✕ slam<br/>[wind_blows]<br/>then locked
    s3: ↺ stay-open<br/>[otherwise]
`))
}

func TestATableBecomesAGraphForGraphviz(t *testing.T) {
	NewWithT(t).Expect(door(t, doorTable, kinds()).DOT()).To(Equal(`digraph "The door's states" {
    rankdir=TB
    nodesep=0.6
    ranksep=0.9
    node [shape=box, style=rounded, fontname="sans-serif"]
    edge [fontname="sans-serif", fontsize=10]
    "" [shape=point, width=0.15]
    "" -> "locked"
    "locked" [tooltip="The bolt is out."]
    "closed" [tooltip="The bolt is in and the door stands in its frame."]
    "open" [tooltip="One can walk through."]
    "locked" -> "open" [style=dashed, arrowhead=empty, color=darkorange3, label="▲ break-in\l[not key_turned,\laxe_swung]\l", tooltip="There is always another way."]
    "locked" -> "closed" [style=solid, label="unlock\l[key_turned]\l", tooltip="Who has the key may enter."]
    "locked" -> "locked" [style=solid, label="stay-locked\l[otherwise]\l", tooltip="Nobody came."]
    "closed" -> "open" [style=solid, label="push 12×\l[pushed]\l", tooltip="Somebody goes through."]
    "closed" -> "closed" [style=solid, label="stay-closed\l[otherwise]\l", tooltip="Nobody came."]
    "open" -> "closed" [style=dotted, penwidth=1.6, arrowhead=open, color=firebrick3, label="✕ slam\l[wind_blows]\lthen locked\l", tooltip="The wind shuts the door & the bolt falls: <bang>."]
    "open" -> "open" [style=solid, label="stay-open\l[otherwise]\l", tooltip="It stands open."]
}
`))
}

func TestATableBecomesAPicture(t *testing.T) {
	g := NewWithT(t)
	svg := door(t, doorTable, kinds()).SVG()
	words := wordsOf(t, svg)
	g.Expect(svg).To(HavePrefix(`<svg xmlns="http://www.w3.org/2000/svg" class="machine-graph" `))
	g.Expect(svg).To(ContainSubstring(`role="img" aria-label="The door&#39;s states"`))

	// Every state and row is there with its guards, and where it leads.
	for _, word := range []string{
		"locked", "closed", "open", "break-in", "unlock", "stay-locked", "push", "stay-closed", "slam", "stay-open",
		"not key_turned, axe_swung", "key_turned", "pushed", "wind_blows", "otherwise", "→ open", "→ closed, then locked", "stays", "12×",
	} {
		g.Expect(words).To(ContainElement(word))
	}

	// Kinds are told apart by line and sign, and the legend says which is which.
	for _, class := range []string{"ordinary", "fallback", "failure", "return"} {
		g.Expect(svg).To(ContainSubstring(`<g class="edge ` + class + `">`))
	}
	g.Expect(words).To(ContainElements("ordinary", "fallback", "failure, or a way back", "and then back in locked"))
	g.Expect(strings.Count(svg, `class="sign"`)).To(Equal(4), "one at each of the two rows, and in the legend")

	// It can be read in dark and light, and all of its style is about itself: it may stand in a page.
	g.Expect(svg).To(ContainSubstring("@media (prefers-color-scheme: dark)"))
	_, rest, _ := strings.Cut(svg, "<style>")
	style, _, _ := strings.Cut(rest, "</style>")
	for line := range strings.Lines(style) {
		g.Expect(strings.TrimSpace(line)).To(Or(HavePrefix(".machine-graph"), HavePrefix("@media"), Equal("}")))
	}
}

// wordsOf are the texts of a picture; it must be well-formed.
func wordsOf(t *testing.T, svg string) []string {
	t.Helper()
	var words []string
	for decoder := xml.NewDecoder(strings.NewReader(svg)); ; {
		token, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			return words
		}
		if err != nil {
			t.Fatalf("the picture is not well-formed: %v", err)
		}
		if text, is := token.(xml.CharData); is && strings.TrimSpace(string(text)) != "" {
			words = append(words, string(text))
		}
	}
}

func TestTheSameTableGivesTheSameBytes(t *testing.T) {
	g := NewWithT(t)
	for range 20 {
		one, other := door(t, doorTable, kinds()), door(t, doorTable, kinds())
		g.Expect(one.SVG()).To(Equal(other.SVG()))
		g.Expect(one.Mermaid()).To(Equal(other.Mermaid()))
		g.Expect(one.DOT()).To(Equal(other.DOT()))
	}
}

// A table that breaks laws is drawn as it is: who mends it wants to see it.
func TestAStateThatOnlyARowNamesIsDrawn(t *testing.T) {
	g := NewWithT(t)
	broken := strings.Replace(doorTable, "to: open\n  when: [pushed]", "to: ajar\n  when: [pushed]", 1)
	broken = strings.Replace(broken, "initial: locked", "initial: bricked-up", 1)
	drawn := door(t, broken, graph.Options{})
	g.Expect(drawn.States).To(HaveLen(4))
	g.Expect(wordsOf(t, drawn.SVG())).To(ContainElements("ajar", "The table has no such state.", "→ ajar"))
	g.Expect(drawn.Mermaid()).To(ContainSubstring("s2 --> s4: push"))
	g.Expect(drawn.Mermaid()).NotTo(ContainSubstring("[*]"))
}

// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"regexp"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// A file that is no YAML as a whole is looked at in pieces: each of the table's keys with what follows it, and each row.
// A bracket that is not closed then hides its own row and no other. Only what begins in the first column is a piece.
var pieceBegins = regexp.MustCompile(`^((?:initial|states|transitions):|-)(?:\s|$)`)

// piece is a part of a file, from one of its lines to before another, counted from 0.
type piece struct{ from, to int }

// piecesOf finds the pieces. What is before the first is none.
func piecesOf(lines []string) []piece {
	var pieces []piece
	for i, line := range lines {
		if !pieceBegins.MatchString(line) {
			continue
		}
		if len(pieces) > 0 {
			pieces[len(pieces)-1].to = i
		}
		pieces = append(pieces, piece{i, len(lines)})
	}
	return pieces
}

// wrong is what the YAML library says of the piece alone, with the lines of the file; nil if it is YAML.
func (p piece) wrong(lines []string) error {
	alone := strings.Repeat("\n", p.from) + strings.Join(lines[p.from:p.to], "")
	return yaml.Unmarshal([]byte(alone), &yaml.Node{})
}

// empty leaves of the piece its first word, and its lines.
func (p piece) empty(lines []string) {
	lines[p.from] = pieceBegins.FindStringSubmatch(lines[p.from])[1] + "\n"
	for i := p.from + 1; i < p.to; i++ {
		lines[i] = "\n"
	}
}

// brokenPiece is a piece that is no YAML by itself.
type brokenPiece struct {
	// line is where it begins, counted from 1.
	line int
	err  error
}

// withoutBroken empties the pieces that are no YAML. It finds none where what is left is no YAML either: the pieces then are
// none, and what is wrong with them is only that.
func withoutBroken(data []byte) (rest []byte, broken []brokenPiece) {
	lines := strings.SplitAfter(string(data), "\n")
	for _, part := range piecesOf(lines) {
		if err := part.wrong(lines); err != nil {
			broken = append(broken, brokenPiece{part.from + 1, err})
			part.empty(lines)
		}
	}
	rest = []byte(strings.Join(lines, ""))
	if yaml.Unmarshal(rest, &yaml.Node{}) != nil {
		return nil, nil
	}
	return rest, broken
}

// rest returns the root of what is left without the broken pieces, after saying what is wrong with those.
func (p *parser) rest(rest []byte, broken []brokenPiece) *yaml.Node {
	p.emptied = make(map[int]bool, len(broken))
	for _, b := range broken {
		p.emptied[b.line] = true
		p.malformed(b.err, b.line)
	}
	return p.document(rest)
}

// isEmptied is true of what is left of a broken piece.
func (p *parser) isEmptied(n *yaml.Node) bool {
	return p.emptied[n.Line] && n.Kind == yaml.ScalarNode && n.ShortTag() == "!!null"
}

var yamlLine = regexp.MustCompile(`^yaml: line (\d+): `)

// malformed says what the YAML library says, where it says that, and at the least in this line.
func (p *parser) malformed(err error, line int) {
	text := err.Error()
	if m := yamlLine.FindStringSubmatch(text); m != nil {
		at, _ := strconv.Atoi(m[1])
		line = max(line, at)
		text = strings.TrimPrefix(text, m[0])
	}
	p.wrong(line, "this is not YAML: %s; correct it at or near this line", strings.TrimPrefix(text, "yaml: "))
}

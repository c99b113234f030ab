// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"time"
)

// teller tells one happening to whoever looks on.
type teller func(happening) error

// Escape sequences of a terminal.
const (
	plain  = "\x1b[0m"
	bold   = "\x1b[1m"
	dim    = "\x1b[2m"
	red    = "\x1b[31m"
	green  = "\x1b[32m"
	blue   = "\x1b[34m"
	purple = "\x1b[35m"
	cyan   = "\x1b[36m"
)

// inText writes a line for each happening: when, who, what. A rotation begins after an empty line.
func inText(to io.Writer, coloured bool) teller {
	paint := func(colour, text string) string {
		if !coloured || colour == "" {
			return text
		}
		return colour + text + plain
	}
	return func(h happening) error {
		if h.What == claimSelected || h.What == verdictGood || h.What == verdictBad {
			if _, err := fmt.Fprintln(to); err != nil {
				return err
			}
		}
		_, err := fmt.Fprintf(to, "%s  %s  %s\n",
			paint(dim, fmt.Sprintf("%6.1fs", h.At.Seconds())),
			paint(colourOf(h), fmt.Sprintf("%-12s", subject(h))),
			paint(emphasis(h), h.Text))
		for _, breach := range h.Breaches {
			_, err = fmt.Fprintf(to, "%23s%s\n", "- ", breach)
		}
		return err
	}
}

// subject stands in the second column.
func subject(h happening) string {
	switch h.What {
	case progress:
		return ""
	case verdictGood:
		return "PASS"
	case verdictBad:
		return "FAIL"
	default:
		return string(h.Actor)
	}
}

func colourOf(h happening) string {
	switch h.What {
	case verdictGood:
		return bold + green
	case verdictBad:
		return bold + red
	default:
		return colourOfActor(h.Actor)
	}
}

func colourOfActor(who actor) string {
	switch who {
	case noderotation:
		return cyan
	case karpenter:
		return purple
	case kubernetes:
		return blue
	default:
		return dim
	}
}

func emphasis(h happening) string {
	switch h.What {
	case claimSelected, verdictGood, verdictBad:
		return bold
	case progress:
		return green
	case rotationFailed, rotationExpired, claimSurplus, placeholderLost, nodeNotReady, podDeleted:
		return red
	default:
		return ""
	}
}

// inJSON writes one JSON object for each happening.
func inJSON(to io.Writer) teller {
	encoder := json.NewEncoder(to)
	encoder.SetEscapeHTML(false)
	return func(h happening) error {
		return encoder.Encode(struct {
			Seconds float64 `json:"seconds"`
			What    what    `json:"happening"`
			Actor   actor   `json:"actor,omitempty"`
			Object  string  `json:"object,omitempty"`
			Text    string  `json:"text"`
			Tally   *tally  `json:"fleet,omitempty"`

			Breaches []string `json:"breaches,omitempty"`
		}{math.Round(h.At.Seconds()*10) / 10, h.What, h.Actor, h.Object, h.Text, h.Tally, h.Breaches})
	}
}

// from has each happening told with the time since start.
func from(start time.Time, now func() time.Time, tell teller) teller {
	return func(h happening) error {
		h.At = now().Sub(start)
		return tell(h)
	}
}

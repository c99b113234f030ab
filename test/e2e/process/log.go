// SPDX-License-Identifier: Apache-2.0

package process

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"time"
)

// Transition is a line that the controller logs for a fired row that changed something.
type Transition struct {
	At        time.Time `json:"ts"`
	Row       string    `json:"row"`
	From      string    `json:"from"`
	To        string    `json:"to"`
	NodePool  string    `json:"pool"`
	NodeClaim string    `json:"claim"`
	Writes    int       `json:"writes"`
	Because   []string  `json:"because"`
	// Request is what controller-runtime adds under a key that differs from ours in its capitals alone.
	Request json.RawMessage `json:"NodePool"`
}

// Transitions reads a controller's log.
func Transitions(log string) ([]Transition, error) {
	file, err := os.Open(log)
	if err != nil {
		return nil, fmt.Errorf("the controller's log cannot be read: %w", err)
	}
	defer func() { _ = file.Close() }()
	var found []Transition
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var message struct {
			Message string `json:"msg"`
		}
		// Not every line is JSON: a panic is not, and the last one of a killed process may be torn.
		if json.Unmarshal(lines.Bytes(), &message) != nil || message.Message != "transition" {
			continue
		}
		var transition Transition
		if err := json.Unmarshal(lines.Bytes(), &transition); err != nil {
			return nil, fmt.Errorf("the controller logged a transition that cannot be read: %w: %s", err, lines.Text())
		}
		found = append(found, transition)
	}
	return found, lines.Err()
}

// SPDX-License-Identifier: Apache-2.0

package process

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"strings"
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
	return lines[Transition](log, func(message string) bool { return message == "transition" })
}

// Line is any line that the controller logs.
type Line struct {
	Level   string          `json:"level"`
	Message string          `json:"msg"`
	Row     string          `json:"row"`
	Action  string          `json:"action"`
	Pool    string          `json:"pool"`
	Error   string          `json:"error"`
	Request json.RawMessage `json:"NodePool"`
}

// Lines reads a controller's log.
func Lines(log string) ([]Line, error) { return lines[Line](log, func(string) bool { return true }) }

// Panics are the lines of a controller's log that tell of a panic: of one that ended the process, which are not JSON, and of
// one in a pass, which controller-runtime catches and reports as the pass's error.
func Panics(log string) ([]string, error) {
	var found []string
	err := eachLine(log, func(text []byte) error {
		var line Line
		said := string(text)
		if json.Unmarshal(text, &line) == nil {
			said = line.Error
		}
		if strings.HasPrefix(said, "panic: ") || strings.HasPrefix(said, "fatal error: ") {
			found = append(found, said)
		}
		return nil
	})
	return found, err
}

// lines reads those lines of a log whose message is wanted.
func lines[T any](log string, wanted func(message string) bool) ([]T, error) {
	var found []T
	err := eachLine(log, func(text []byte) error {
		var line struct {
			Message string `json:"msg"`
		}
		// Not every line is JSON: a panic is not, and the last one of a killed process may be torn.
		if readable := json.Unmarshal(text, &line) == nil; !readable || !wanted(line.Message) {
			return nil
		}
		var one T
		if err := json.Unmarshal(text, &one); err != nil {
			return fmt.Errorf("the controller logged a line that cannot be read: %w: %s", err, text)
		}
		found = append(found, one)
		return nil
	})
	return found, err
}

// eachLine reads a log up to its end, or to the first error of visit.
func eachLine(log string, visit func(text []byte) error) error {
	file, err := os.Open(log)
	if err != nil {
		return fmt.Errorf("the controller's log cannot be read: %w", err)
	}
	defer func() { _ = file.Close() }()
	scanner := bufio.NewScanner(file)
	scanner.Buffer(nil, 1<<20)
	for scanner.Scan() {
		if err := visit(scanner.Bytes()); err != nil {
			return err
		}
	}
	return scanner.Err()
}

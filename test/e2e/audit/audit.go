// SPDX-License-Identifier: Apache-2.0

// Package audit reads the API server's audit log: who asked for what, when, and what came of it.
package audit

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Record is one answered request.
type Record struct {
	Verb string `json:"verb"`
	URI  string `json:"requestURI"`
	User struct {
		Username string `json:"username"`
	} `json:"user"`
	UserAgent string `json:"userAgent"`
	ObjectRef struct {
		APIGroup    string `json:"apiGroup"`
		Resource    string `json:"resource"`
		Subresource string `json:"subresource"`
		Namespace   string `json:"namespace"`
		Name        string `json:"name"`
	} `json:"objectRef"`
	ResponseStatus struct {
		Code    int    `json:"code"`
		Message string `json:"message"`
	} `json:"responseStatus"`
	Received metav1.MicroTime `json:"requestReceivedTimestamp"`
	Answered metav1.MicroTime `json:"stageTimestamp"`
}

// String is the record in a few words.
func (r Record) String() string {
	resource := r.ObjectRef.Resource
	if r.ObjectRef.Subresource != "" {
		resource += "/" + r.ObjectRef.Subresource
	}
	return fmt.Sprintf("%s %s %s: %d", r.Verb, resource, r.ObjectRef.Name, r.ResponseStatus.Code)
}

// Succeeded tells whether the write was accepted.
func (r Record) Succeeded() bool { return r.ResponseStatus.Code < 300 }

// Forbidden tells whether RBAC or admission refused the request.
func (r Record) Forbidden() bool { return r.ResponseStatus.Code == 403 }

// Reads tells whether the request changes nothing: it asks, or it only rehearses a write.
func (r Record) Reads() bool {
	return r.Verb == "get" || r.Verb == "list" || r.Verb == "watch" || strings.Contains(r.URI, "dryRun=All")
}

// Counts tells whether the write is one of a rotation's: Events, leases and the status of policies are not.
func (r Record) Counts() bool {
	switch r.ObjectRef.Resource {
	case "events", "leases", "rotationpolicies", "selfsubjectaccessreviews":
		return false
	default:
		return true
	}
}

// ByProduct tells whether a program of the product sent the request, whoever it was sent as.
func (r Record) ByProduct() bool { return strings.HasPrefix(r.UserAgent, "noderotation/") }

// Position is a place in the log.
type Position int64

// End is the present end of the log.
func End(log string) (Position, error) {
	info, err := os.Stat(log)
	if err != nil {
		return 0, fmt.Errorf("the audit log cannot be found: %w", err)
	}
	return Position(info.Size()), nil
}

// Of returns what a user asked to write since a position, in the order of the answers.
func Of(log, user string, since Position) ([]Record, error) {
	all, err := Since(log, since)
	return slices.DeleteFunc(all, func(record Record) bool { return record.User.Username != user }), err
}

// Since returns what everybody asked to write since a position, in the order of the answers.
func Since(log string, since Position) ([]Record, error) {
	all, err := read(log, since)
	return slices.DeleteFunc(all, Record.Reads), err
}

// Requests returns everything that the product asked for as a user, reading included, in the order of the answers.
func Requests(log, user string) ([]Record, error) {
	all, err := read(log, 0)
	return slices.DeleteFunc(all, func(record Record) bool { return record.User.Username != user || !record.ByProduct() }), err
}

func read(log string, since Position) ([]Record, error) {
	file, err := os.Open(log)
	if err != nil {
		return nil, fmt.Errorf("the audit log cannot be read: %w", err)
	}
	defer func() { _ = file.Close() }()
	if _, err := file.Seek(int64(since), io.SeekStart); err != nil {
		return nil, fmt.Errorf("the audit log cannot be read from %d: %w", since, err)
	}
	var found []Record
	for decoder := json.NewDecoder(file); ; {
		var record Record
		switch err := decoder.Decode(&record); {
		case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF): // the last line may be half written
			return found, nil
		case err != nil:
			return nil, fmt.Errorf("the audit log cannot be decoded: %w", err)
		}
		found = append(found, record)
	}
}

// At is the instant at which the API server received the request.
func (r Record) At() time.Time { return r.Received.Time }

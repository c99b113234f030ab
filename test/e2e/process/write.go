// SPDX-License-Identifier: Apache-2.0

package process

import (
	"net/http"
	"strings"
)

// Write is one request that changes something, in the words of RBAC.
type Write struct {
	Verb        string // create, update, patch or delete
	Resource    string
	Subresource string
	Namespace   string
	Name        string // empty for create
}

func (w Write) String() string { return w.Verb + " " + w.Resource }

// Counts tells whether the write is one of a rotation's. Events, leases and the status of policies are told apart
// (architecture.md: the writes of one undisturbed rotation).
func (w Write) Counts() bool {
	switch w.Resource {
	case "events", "leases", "rotationpolicies", "selfsubjectaccessreviews":
		return false
	default:
		return true
	}
}

// writeOf reads a request; false if it changes nothing.
func writeOf(request *http.Request) (Write, bool) {
	verbs := map[string]string{
		http.MethodPost: "create", http.MethodPut: "update", http.MethodPatch: "patch", http.MethodDelete: "delete",
	}
	verb, changes := verbs[request.Method]
	if !changes {
		return Write{}, false
	}
	write := Write{Verb: verb}
	// /api/VERSION/… or /apis/GROUP/VERSION/…, then namespaces/NAMESPACE/ if there is more, then RESOURCE/NAME/SUBRESOURCE.
	parts := strings.Split(strings.Trim(request.URL.Path, "/"), "/")
	skip := 2
	if parts[0] == "apis" {
		skip = 3
	}
	if len(parts) <= skip {
		return Write{}, false
	}
	parts = parts[skip:]
	if parts[0] == "namespaces" && len(parts) > 2 {
		write.Namespace, parts = parts[1], parts[2:]
	}
	parts = append(parts, "", "")
	write.Resource, write.Name, write.Subresource = parts[0], parts[1], parts[2]
	return write, true
}

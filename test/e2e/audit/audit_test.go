// SPDX-License-Identifier: Apache-2.0

package audit_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"noderotation.io/noderotation/test/e2e/audit"
)

// The controller's user, as the product and as somebody who tries what that user may do.
const (
	user    = "system:serviceaccount:here:noderotation"
	product = "noderotation/v0.1.0"
	elector = "noderotation/v0.0.0 (linux/amd64) kubernetes/$Format/leader-election"
	tester  = "e2e.test/v0.0.0 (linux/amd64) kubernetes/$Format"
)

// line is a line of the audit log.
func line(user, agent, verb, resource string) string {
	return fmt.Sprintf(`{"verb":%q,"user":{"username":%q},"userAgent":%q,"objectRef":{"resource":%q},"responseStatus":{"code":200}}`+"\n",
		verb, user, agent, resource)
}

func TestWhatTheProductAskedForIsToldFromWhatATestAskedForAsItsUser(t *testing.T) {
	log := filepath.Join(t.TempDir(), "audit.log")
	content := line(user, product, "list", "pods") + line(user, tester, "patch", "nodes") + line(user, elector, "update", "leases") +
		line("reader", product, "get", "nodes") + line(user, product, "create", "pods") + `{"verb":"delete","user":{"usern`
	if err := os.WriteFile(log, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	asked, err := audit.Requests(log, user)
	if err != nil {
		t.Fatal(err)
	}
	if is, want := verbs(asked), []string{"list pods", "update leases", "create pods"}; !slices.Equal(is, want) {
		t.Errorf("the product is said to have asked for %v, and not %v", is, want)
	}
	writes, err := audit.Of(log, user, audit.Position(len(line(user, product, "list", "pods"))))
	if err != nil {
		t.Fatal(err)
	}
	if is, want := verbs(writes), []string{"patch nodes", "update leases", "create pods"}; !slices.Equal(is, want) {
		t.Errorf("the user is said to have written %v, and not %v", is, want)
	}
}

func TestAWriteThatIsOnlyRehearsedIsNone(t *testing.T) {
	rehearsed := audit.Record{Verb: "create", URI: "/apis/coordination.k8s.io/v1/namespaces/here/leases?dryRun=All"}
	if written := (audit.Record{Verb: "create", URI: "/apis/coordination.k8s.io/v1/namespaces/here/leases"}); !rehearsed.Reads() || written.Reads() {
		t.Error("a rehearsed write counts as one, or a write as rehearsed")
	}
}

func verbs(records []audit.Record) (all []string) {
	for _, record := range records {
		all = append(all, record.Verb+" "+record.ObjectRef.Resource)
	}
	return all
}

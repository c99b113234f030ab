// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"noderotation.io/noderotation/sim/simulate"
)

// Trouble that the documents show off falls into a window: one that meets nothing teaches that nothing can happen.
func TestTroubleThatIsShownMeetsSomething(t *testing.T) {
	t.Chdir(filepath.Join("..", ".."))
	readme, more := documentAt(t, "README.md"), documentAt(t, filepath.Join("examples", "README.md"))
	policy := written(t, "policy.yaml", yamlThat(t, readme, "kind: RotationPolicy"))
	fleet := written(t, "fleet.yaml", yamlThat(t, more, "kind: Fleet"))
	names := strings.NewReplacer("policy.yaml", policy, "fleet.yaml", fleet)
	for where, text := range map[string]string{
		"README.md": readme, "examples/README.md": more, "noderotation simulate --help": newSimulateCommand().Example,
	} {
		lines := troubled.FindAllStringSubmatch(text, -1)
		NewWithT(t).Expect(lines).NotTo(BeEmpty(), where)
		for _, line := range lines {
			t.Run(where, func(t *testing.T) {
				g := NewWithT(t)
				out, err := run(t, append(strings.Fields(names.Replace(line[1])), "-o", "json")...)
				g.Expect(err).NotTo(HaveOccurred())
				var result simulate.Result
				g.Expect(json.Unmarshal([]byte(out), &result)).To(Succeed())
				g.Expect(result.Troubles).NotTo(BeEmpty())
				for _, m := range result.Troubles {
					g.Expect(m.Rotations+m.OpenWindows).To(BeNumerically(">", 0), m.Text)
				}
			})
		}
	}
}

// troubled are the commands with trouble that need no cluster.
var troubled = regexp.MustCompile(`(?m)noderotation (simulate (?:examples/|policy\.yaml fleet)[^#\n]*--(?:shortage|outage|blocking-budgets)[^#\n]*)`)

// yamlThat is the YAML of a document that has this line.
func yamlThat(t *testing.T, text, line string) string {
	t.Helper()
	for _, fence := range regexp.MustCompile("(?s)```yaml\n(.*?)\n```\n").FindAllStringSubmatch(text, -1) {
		if strings.Contains(fence[1], line+"\n") {
			return fence[1]
		}
	}
	t.Fatalf("no YAML has the line %q", line)
	return ""
}

func documentAt(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// SPDX-License-Identifier: Apache-2.0

package noderotation_test

import (
	"io/fs"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"noderotation.io/noderotation/controller"
	"noderotation.io/noderotation/effects"
	"noderotation.io/noderotation/rotation"
	"noderotation.io/noderotation/test/alerts"
)

// Words of others that the documents name in code. A word of ours is never listed here: it is known because it exists.
var (
	othersWords = []string{
		// Kubernetes' and Karpenter's kinds, and what other programs call their parts
		"NodePool", "NodeClaim", "RotationPolicy", "PriorityClass", "ResourceQuota", "HighNodeUtilization",
	}
	othersFields = []string{
		"spec.template.spec.expireAfter", "spec.template.spec.terminationGracePeriod", "spec.limits", "spec.replicas",
		"spec.unschedulable",
	}
	othersFlags = []string{
		"--reboot-days", "--start-time", "--end-time", "--time-zone", "--alert-filter-regexp", // kured
		"--set", "--wait", "--take-ownership", "--server-side", "--skip-crds", // helm
		"--as", "--as-group", // kubectl
	}
	// What follows noderotation.io/ and is no annotation: the API's version, the Go module, the web site.
	notAnnotations = []string{"v1alpha1", "noderotation", "docs"}
)

var (
	function       = regexp.MustCompile(`(?m)^func (?:\([^)]*\) )?([A-Z]\w*)[(\[]`)
	metricName     = regexp.MustCompile(`\bnoderotation_[a-z_]*`)
	alertWord      = regexp.MustCompile(`\bNodeRotation[A-Z][A-Za-z]+`)
	annotationName = regexp.MustCompile(`noderotation\.io/([a-z0-9-]*[a-z0-9])`)
	camelWord      = regexp.MustCompile(`^[A-Z][a-z0-9]+([A-Z][a-z0-9]*)+$`)
	dottedWord     = regexp.MustCompile(`^[a-z][A-Za-z]*(\.[a-z][A-Za-z]*)+$`)
	fileWord       = regexp.MustCompile(`\.(go|yaml|md|json|sum|mod|html|io|sh)$`)
	setValue       = regexp.MustCompile(`--set(?:-file|-string)? ([A-Za-z.]+)=`)
	policyField    = regexp.MustCompile("(?m)^\\| `((?:spec|status)\\.[^`]+)` \\|")
)

// told are the texts in which people read names of ours: the handwritten pages, and the alerts.
func told(t *testing.T) []page {
	t.Helper()
	all := slices.DeleteFunc(pages(t), func(p page) bool { return p.generated })
	text, err := os.ReadFile(alerts.RuleFile)
	if err != nil {
		t.Fatal(err)
	}
	return append(all, taken(alerts.RuleFile, string(text)))
}

func theAlerts(t *testing.T) []alerts.Alert {
	t.Helper()
	content, err := os.ReadFile(alerts.RuleFile)
	if err != nil {
		t.Fatal(err)
	}
	all, err := alerts.Read(content)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func alertNames(t *testing.T) []string {
	t.Helper()
	var names []string
	for _, alert := range theAlerts(t) {
		names = append(names, alert.Name)
	}
	return names
}

// eventsAndFindings are the words that stand as the reason of an Event or of a condition.
func eventsAndFindings() []string {
	var names []string
	for _, reason := range effects.Reasons() {
		names = append(names, reason.Name)
	}
	for _, rule := range rotation.Rules() {
		names = append(names, rule.Code)
	}
	return names
}

// functions are those of the repository's Go files that others can call or run, tests among them.
func functions(t *testing.T) []string {
	t.Helper()
	var names []string
	err := fs.WalkDir(os.DirFS("."), ".", func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && slices.Contains([]string{".git", ".cache", "bin"}, path):
			return fs.SkipDir
		case !strings.HasSuffix(path, ".go"):
			return nil
		}
		text, err := os.ReadFile(path)
		for _, found := range function.FindAllStringSubmatch(string(text), -1) {
			names = append(names, found[1])
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

func TestTheDocumentsNameWhatExists(t *testing.T) {
	series := controller.MetricNames()
	words := slices.Concat(alertNames(t), eventsAndFindings(), functions(t), othersWords)
	var annotations []string
	for _, key := range rotation.Keys() {
		annotations = append(annotations, key.Name)
	}
	for _, p := range told(t) {
		for _, name := range metricName.FindAllString(p.text, -1) {
			if name != "noderotation_" && !slices.Contains(series, strings.TrimSuffix(name, "_bucket")) {
				t.Errorf("%s names the metric %s, which nobody exports", p.path, name)
			}
		}
		for _, name := range alertWord.FindAllString(p.text, -1) {
			if !slices.Contains(words, name) {
				t.Errorf("%s names the alert %s, which does not exist", p.path, name)
			}
		}
		for _, found := range annotationName.FindAllStringSubmatch(strings.ReplaceAll(p.text, `\.`, "."), -1) {
			name := strings.TrimSuffix(found[0], "-") // kubectl annotate KEY- removes it
			if !slices.Contains(annotations, name) && !slices.Contains(notAnnotations, found[1]) {
				t.Errorf("%s names the annotation %s, which nobody reads or writes", p.path, found[0])
			}
		}
		for _, code := range p.code {
			if camelWord.MatchString(code) && !slices.Contains(words, code) {
				t.Errorf("%s names %s: no alert, Event, finding or function of ours, and no word of others that is listed in this test", p.path, code)
			}
		}
	}
}

// values is a chart's values.yaml; has tells whether a dotted path is in it.
type values map[string]any

func (v values) has(path string) bool {
	first, rest, deeper := strings.Cut(path, ".")
	value, found := v[first]
	if !found || !deeper {
		return found
	}
	below, isMap := value.(map[string]any)
	return isMap && values(below).has(rest)
}

func TestTheDocumentsNameFieldsAndValuesThatExist(t *testing.T) {
	content, err := os.ReadFile("charts/noderotation/values.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var chart values
	if err := yaml.Unmarshal(content, &chart); err != nil {
		t.Fatal(err)
	}
	contract, err := os.ReadFile("docs/contract.md")
	if err != nil {
		t.Fatal(err)
	}
	fields := slices.Clone(othersFields)
	for _, row := range policyField.FindAllStringSubmatch(string(contract), -1) {
		name := strings.ReplaceAll(row[1], "[]", "")
		fields = append(fields, name, strings.TrimPrefix(name, "spec."), strings.TrimPrefix(name, "spec.surge."))
	}
	for _, p := range told(t) {
		for _, code := range p.code {
			for _, set := range setValue.FindAllStringSubmatch(code, -1) {
				if !chart.has(set[1]) {
					t.Errorf("%s sets %s, which is no value of the chart", p.path, set[1])
				}
			}
			if dottedWord.MatchString(code) && !fileWord.MatchString(code) && !chart.has(code) && !slices.Contains(fields, code) {
				t.Errorf("%s names %s: no value of the chart, no field of a RotationPolicy, and no field of others that is listed in this test", p.path, code)
			}
		}
	}
}

// Every alert links to a section of its name, which says for whom it is.
func TestTheRunbookHasASectionForEveryAlert(t *testing.T) {
	runbook, err := os.ReadFile("docs/runbook.md")
	if err != nil {
		t.Fatal(err)
	}
	_, sections, _ := strings.Cut(string(runbook), "\n## By alert\n")
	sections, _, _ = strings.Cut(sections, "\n## ")
	var described []string
	for _, section := range strings.Split(sections, "\n### ")[1:] {
		name, body, _ := strings.Cut(section, "\n")
		described = append(described, name)
		for _, alert := range theAlerts(t) {
			severity := alert.Labels["severity"]
			if alert.Name == name && !strings.HasPrefix(strings.TrimSpace(body), "*"+strings.ToUpper(severity[:1])+severity[1:]+".*") {
				t.Errorf("the runbook's section on %s does not begin with its severity, %s", name, severity)
			}
		}
	}
	for _, name := range alertNames(t) {
		if !slices.Contains(described, name) {
			t.Errorf("the runbook has no section %s", name)
		}
	}
	for _, name := range described {
		if !slices.Contains(alertNames(t), name) {
			t.Errorf("the runbook has a section %s, which is no alert", name)
		}
	}
}

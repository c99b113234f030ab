// SPDX-License-Identifier: Apache-2.0

package alerts

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"noderotation.io/noderotation/controller"
)

// foreign are the series of the libraries that the controller is built on.
var foreign = []string{"leader_election_master_status", "controller_runtime_reconcile_errors_total"}

var noderotationNames = regexp.MustCompile(`noderotation_[a-z_]+`)

// exported tells whether the controller exports a series of this name.
func exported(name string) bool {
	for _, s := range controller.AllSeries() {
		if name == s.Name && s.Kind != controller.HistogramSeries {
			return true
		}
		if s.Kind == controller.HistogramSeries && slices.Contains([]string{s.Name + "_bucket", s.Name + "_sum", s.Name + "_count"}, name) {
			return true
		}
	}
	return slices.Contains(foreign, name)
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	content, err := os.ReadFile(filepath.Join("..", "..", path))
	if err != nil {
		t.Fatal(err)
	}
	return content
}

func theAlerts(t *testing.T) []Alert {
	t.Helper()
	all, err := Read(read(t, RuleFile))
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func theBoard(t *testing.T) Board {
	t.Helper()
	board, err := ReadBoard(read(t, Dashboard))
	if err != nil {
		t.Fatal(err)
	}
	return board
}

// A person who is woken must learn what has happened and what to do first, without reading the expression (§4.2).
func TestEveryAlertSaysWhatToDo(t *testing.T) {
	seen := map[string]bool{}
	for _, alert := range theAlerts(t) {
		if seen[alert.Name] {
			t.Errorf("there are two alerts %s", alert.Name)
		}
		seen[alert.Name] = true
		if severity := alert.Labels["severity"]; severity != "page" && severity != "ticket" {
			t.Errorf("%s has severity %q: page and ticket are what people route by", alert.Name, severity)
		}
		if alert.Annotations["summary"] == "" || strings.HasSuffix(alert.Annotations["summary"], ".") {
			t.Errorf("%s wants a summary, a headline without a full stop", alert.Name)
		}
		if !strings.Contains(alert.Annotations["description"], "First") {
			t.Errorf("%s does not say what to do first", alert.Name)
		}
		if want := "${RUNBOOK_URL}#" + strings.ToLower(alert.Name); alert.Annotations["runbook_url"] != want {
			t.Errorf("%s links to %q, not to %q", alert.Name, alert.Annotations["runbook_url"], want)
		}
	}
}

func TestEveryAlertIsTriedBothWays(t *testing.T) {
	files, err := filepath.Glob("*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	trials := Trials{}
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if err := trials.Note(content); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
	}
	var known []string
	for _, alert := range theAlerts(t) {
		known = append(known, alert.Name)
		if !trials[alert.Name].Fires {
			t.Errorf("no test has series on which %s fires", alert.Name)
		}
		if !trials[alert.Name].Silent {
			t.Errorf("no test has series on which %s stays silent", alert.Name)
		}
	}
	for _, name := range trials.Names() {
		if !slices.Contains(known, name) {
			t.Errorf("a test tries %s, which is no alert", name)
		}
	}
}

func TestAlertsAskForWhatIsExported(t *testing.T) {
	for _, alert := range theAlerts(t) {
		names := Metrics(alert.Expr)
		if len(names) == 0 {
			t.Errorf("%s asks for nothing", alert.Name)
		}
		for _, name := range names {
			if !exported(name) {
				t.Errorf("%s asks for %s, which nobody exports", alert.Name, name)
			}
		}
	}
}

func TestTheDashboardShowsEverySeries(t *testing.T) {
	var shown []string
	for _, panel := range theBoard(t).Panels {
		for _, target := range panel.Targets {
			for _, name := range Metrics(target.Expr) {
				if !exported(name) {
					t.Errorf("panel %q asks for %s, which nobody exports", panel.Title, name)
				}
				shown = append(shown, name, strings.TrimSuffix(name, "_bucket"))
			}
		}
	}
	for _, name := range controller.MetricNames() {
		if !slices.Contains(shown, name) {
			t.Errorf("no panel shows %s", name)
		}
	}
}

// Grafana takes the dashboard as it is: every panel explains itself, follows the chosen data source and NodePools, and none
// covers another.
func TestTheDashboardIsWhole(t *testing.T) {
	board := theBoard(t)
	if board.SchemaVersion < 39 || board.UID == "" {
		t.Errorf("schema version %d and uid %q: 39 or later, and a uid that stays, so that links do", board.SchemaVersion, board.UID)
	}
	ids, cells := map[int]string{}, map[[2]int]string{}
	for _, panel := range board.Panels {
		if other, taken := ids[panel.ID]; taken {
			t.Errorf("panels %q and %q have one id", panel.Title, other)
		}
		ids[panel.ID] = panel.Title
		at := panel.GridPos
		for x := at.X; x < at.X+at.W; x++ {
			for y := at.Y; y < at.Y+at.H; y++ {
				if other, taken := cells[[2]int{x, y}]; taken && other != panel.Title {
					t.Errorf("panel %q covers %q", panel.Title, other)
				}
				cells[[2]int{x, y}] = panel.Title
			}
		}
		if panel.Type != "row" {
			explains(t, panel)
		}
	}
	for _, variable := range board.Templating.List {
		for _, metric := range noderotationNames.FindAllString(variable.Definition, -1) {
			if !exported(metric) {
				t.Errorf("variable %s asks for %s, which nobody exports", variable.Name, metric)
			}
		}
	}
}

func explains(t *testing.T, panel Panel) {
	t.Helper()
	if panel.Description == "" || panel.Title == "" {
		t.Errorf("panel %d %q does not explain itself", panel.ID, panel.Title)
	}
	if len(panel.Targets) == 0 {
		t.Errorf("panel %q has no query", panel.Title)
	}
	for _, target := range panel.Targets {
		if panel.Datasource.UID != "${datasource}" || target.Datasource.UID != "${datasource}" {
			t.Errorf("panel %q does not follow the chosen data source", panel.Title)
		}
		if strings.Contains(target.Expr, "noderotation_") && !strings.Contains(target.Expr, `nodepool=~"$nodepool"`) {
			t.Errorf("panel %q, query %s does not follow the chosen NodePools", panel.Title, target.RefID)
		}
	}
}

func TestMetricsOfAQuery(t *testing.T) {
	for expr, want := range map[string]string{
		`absent(a_b{name="c d"} == 1)`:                                                                   "a_b",
		`sum without (instance, pod) (increase(a_total{outcome="x"}[1h])) > 0`:                           "a_total",
		`max by (nodepool, guard) (a{nodepool=~"$nodepool"}) == 1 and ignoring (guard) b - time() < 1`:   "a b",
		`histogram_quantile(0.9, sum by (le) (rate(a_bucket[5m])))`:                                      "a_bucket",
		`last_over_time(a[6h]) unless b and on () c{x="y"} == 1 or vector(0)`:                            "a b c",
		`(max by (nodepool) (a)) > bool time()`:                                                          "a",
		`max without (instance, pod) (b) + max without (pod) (c) unless ignoring (guard) max by (x) (d)`: "b c d",
	} {
		if got := strings.Join(Metrics(expr), " "); got != want {
			t.Errorf("%s asks for %q, not for %q", expr, want, got)
		}
	}
}

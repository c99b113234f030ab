// SPDX-License-Identifier: Apache-2.0

package alerts

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"

	"sigs.k8s.io/yaml"
)

// Board is what the tests read of a Grafana dashboard.
type Board struct {
	SchemaVersion int    `json:"schemaVersion"`
	UID           string `json:"uid"`
	Templating    struct {
		List []Variable `json:"list"`
	} `json:"templating"`
	Panels []Panel `json:"panels"`
}

// Variable is one of a dashboard's variables.
type Variable struct {
	Name       string `json:"name"`
	Type       string `json:"type"`
	Definition string `json:"definition"`
}

// Panel is one panel of a dashboard, or a row, which has no queries.
type Panel struct {
	ID          int      `json:"id"`
	Type        string   `json:"type"`
	Title       string   `json:"title"`
	Description string   `json:"description"`
	Datasource  Source   `json:"datasource"`
	Targets     []Target `json:"targets"`
	GridPos     struct {
		X int `json:"x"`
		Y int `json:"y"`
		W int `json:"w"`
		H int `json:"h"`
	} `json:"gridPos"`
}

// Source is the data source of a panel or a query.
type Source struct {
	UID string `json:"uid"`
}

// Target is one query of a panel.
type Target struct {
	RefID      string `json:"refId"`
	Expr       string `json:"expr"`
	Datasource Source `json:"datasource"`
}

// ReadBoard reads a dashboard.
func ReadBoard(content []byte) (Board, error) {
	var board Board
	if err := json.Unmarshal(content, &board); err != nil {
		return board, fmt.Errorf("the dashboard cannot be read: %w", err)
	}
	return board, nil
}

// variables are what Grafana puts in place of a dashboard's variables, with an example of each.
var variables = strings.NewReplacer(
	"$nodepool", ".*", "$__rate_interval", "5m", "$__interval", "1m", "$__range", "7d",
)

// AsRules writes every query of the dashboard as a recording rule, so that `promtool check rules` can judge it.
func AsRules(board Board) ([]byte, error) {
	type rule struct {
		Record string `json:"record"`
		Expr   string `json:"expr"`
	}
	type group struct {
		Name  string `json:"name"`
		Rules []rule `json:"rules"`
	}
	var groups []group
	for _, panel := range board.Panels {
		g := group{Name: panel.Title}
		for _, target := range panel.Targets {
			expr := variables.Replace(target.Expr)
			if strings.Contains(expr, "$") {
				return nil, fmt.Errorf("panel %q, query %s: a variable in %s is not known", panel.Title, target.RefID, expr)
			}
			g.Rules = append(g.Rules, rule{fmt.Sprintf("panel_%d_%s", panel.ID, target.RefID), expr})
		}
		if len(g.Rules) > 0 {
			groups = append(groups, g)
		}
	}
	out, err := yaml.Marshal(map[string][]group{"groups": groups})
	if err != nil {
		return nil, fmt.Errorf("the queries cannot be written as rules: %w", err)
	}
	return out, nil
}

var (
	alertName = regexp.MustCompile(`alertname="([^"]+)"`)

	// What is no name of a metric: strings, matchers, ranges, the labels of a grouping, functions and operators.
	quoted    = regexp.MustCompile(`"[^"]*"`)
	matchers  = regexp.MustCompile(`\{[^}]*\}`)
	ranges    = regexp.MustCompile(`\[[^\]]*\]`)
	groupings = regexp.MustCompile(`\b(by|without|on|ignoring|group_left|group_right)\s*\([^)]*\)`)
	functions = regexp.MustCompile(`\b[a-z_0-9]+\s*\(`)
	// An aggregation whose grouping stood before its parenthesis.
	operators = regexp.MustCompile(`\b(and|or|unless|bool|offset|sum|min|max|count|avg|inf|nan)\b`)
	name      = regexp.MustCompile(`\b[A-Za-z_:][A-Za-z0-9_:]*\b`)
)

// Metrics lists the names of the series that a query asks for, as often as it names them.
func Metrics(expr string) []string {
	for _, other := range []*regexp.Regexp{quoted, matchers, ranges, groupings, functions, operators} {
		expr = other.ReplaceAllString(expr, " ")
	}
	return name.FindAllString(expr, -1)
}

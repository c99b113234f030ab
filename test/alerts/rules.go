// SPDX-License-Identifier: Apache-2.0

package alerts

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"sigs.k8s.io/yaml"
)

// RuleFile and Dashboard are where the chart keeps them, from the module's root.
const (
	RuleFile  = "charts/noderotation/files/alerts.yaml"
	Dashboard = "charts/noderotation/files/dashboard.json"
)

// Alert is one alerting rule of a rule file.
type Alert struct {
	Name        string            `json:"alert"`
	Expr        string            `json:"expr"`
	For         string            `json:"for"`
	Labels      map[string]string `json:"labels"`
	Annotations map[string]string `json:"annotations"`
}

type ruleFile struct {
	Groups []group `json:"groups"`
}

type group struct {
	Name  string  `json:"name"`
	Rules []Alert `json:"rules"`
}

// Read lists the alerts of a rule file. The error says what is not an alert in it.
func Read(content []byte) ([]Alert, error) {
	var file ruleFile
	if err := yaml.UnmarshalStrict(content, &file); err != nil {
		return nil, fmt.Errorf("the rule file cannot be read: %w", err)
	}
	var all []Alert
	for _, g := range file.Groups {
		for _, rule := range g.Rules {
			if rule.Name == "" {
				return nil, fmt.Errorf("group %s has a rule without a name: %s", g.Name, rule.Expr)
			}
			all = append(all, rule)
		}
	}
	if len(all) == 0 {
		return nil, errors.New("the rule file has no alert")
	}
	return all, nil
}

// Trials says of each alert, by name, whether the tests of promtool have series on which it fires, and series on which it
// does not.
type Trials map[string]Trial

// Trial is what was tried on one alert.
type Trial struct{ Fires, Silent bool }

// trialFile is what a test file of promtool says about alerts. Its scenarios assert every alert that fires, by the series
// ALERTS, and that one does not fire, by an alert_rule_test without expected alerts.
type trialFile struct {
	Tests []struct {
		AlertRuleTest []struct {
			Name     string `json:"alertname"`
			Expected []any  `json:"exp_alerts"`
		} `json:"alert_rule_test"`
		PromQLExprTest []struct {
			Expr     string `json:"expr"`
			Expected []struct {
				Labels string `json:"labels"`
			} `json:"exp_samples"`
		} `json:"promql_expr_test"`
	} `json:"tests"`
}

// Note adds what a test file of promtool tries.
func (t Trials) Note(content []byte) error {
	var file trialFile
	if err := yaml.Unmarshal(content, &file); err != nil {
		return fmt.Errorf("the test file cannot be read: %w", err)
	}
	for _, test := range file.Tests {
		for _, rule := range test.AlertRuleTest {
			t.note(rule.Name, len(rule.Expected) > 0)
		}
		for _, query := range test.PromQLExprTest {
			for _, sample := range query.Expected {
				if name := alertName.FindStringSubmatch(sample.Labels); name != nil {
					t.note(name[1], true)
				}
			}
		}
	}
	return nil
}

func (t Trials) note(name string, fires bool) {
	trial := t[name]
	if fires {
		trial.Fires = true
	} else {
		trial.Silent = true
	}
	t[name] = trial
}

// Names are the alerts that were tried, sorted.
func (t Trials) Names() []string { return slices.Sorted(maps.Keys(t)) }

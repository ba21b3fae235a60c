package main

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"placementsync/internal/daemon"
	"placementsync/internal/testing/harness"
)

// metricLabels returns the labels of each metric of the daemon, without the metrics of Go
// and of the process.
func metricLabels(t *testing.T) map[string][]string {
	t.Helper()
	registry := prometheus.NewRegistry()
	daemon.New(daemon.Config{Program: idleProgram{}, Metrics: registry, Log: slog.New(slog.DiscardHandler), Streams: []string{"orders"}, Now: time.Now}, daemon.Settings{})
	described := make(chan *prometheus.Desc, 1000)
	registry.Describe(described)
	close(described)
	pattern := regexp.MustCompile(`fqName: "(placementsync_[a-z_]+)".* constLabels: \{(\w*).*\}, variableLabels: \{([^}]*)\}`)
	labels := map[string][]string{}
	for d := range described {
		if m := pattern.FindStringSubmatch(d.String()); m != nil {
			name, constLabel, variableLabels := m[1], m[2], m[3]
			labels[name] = append(strings.FieldsFunc(variableLabels, func(r rune) bool { return r == ',' || r == ' ' }), constLabel)
		}
	}
	return labels
}

var (
	selector      = regexp.MustCompile(`(placementsync_[a-z_]+)(?:\{([^}]*)\})?`)
	matcher       = regexp.MustCompile(`(\w+)\s*(?:=~|!~|!=|=)\s*"`)
	grouping      = regexp.MustCompile(`\b(?:by|on|ignoring|without) ?\(([^)]*)\)`)
	templateLabel = regexp.MustCompile(`\$labels\.(\w+)|\{\{(\w+)\}\}`)
)

// checkExpression checks that all metrics and labels of an expression exist, and returns the
// names of the metrics. texts may name labels of the result, as a legend does. These labels must
// exist too.
func checkExpression(t *testing.T, place, expr string, labelsByMetric map[string][]string, texts ...string) (used []string) {
	t.Helper()
	allowed := []string{"instance", "job"}
	for _, m := range selector.FindAllStringSubmatch(expr, -1) {
		labels, ok := labelsByMetric[m[1]]
		if !ok {
			t.Errorf("%s: there is no metric %s", place, m[1])
		}
		used = append(used, m[1])
		allowed = append(allowed, labels...)
		for _, label := range matcher.FindAllStringSubmatch(m[2], -1) {
			if !slices.Contains(append([]string{"instance", "job"}, labels...), label[1]) {
				t.Errorf("%s: %s has no label %s", place, m[1], label[1])
			}
		}
	}
	var usedLabels []string
	for _, m := range grouping.FindAllStringSubmatch(expr, -1) {
		usedLabels = append(usedLabels, strings.FieldsFunc(m[1], func(r rune) bool { return r == ',' || r == ' ' })...)
	}
	for _, text := range texts {
		for _, m := range templateLabel.FindAllStringSubmatch(text, -1) {
			usedLabels = append(usedLabels, m[1]+m[2])
		}
	}
	for _, label := range usedLabels {
		if !slices.Contains(allowed, label) {
			t.Errorf("%s: no metric in %q has the label %s", place, expr, label)
		}
	}
	return used
}

// dashboardPanel contains the tested fields of a panel.
type dashboardPanel struct {
	Title, Description, Type string
	Targets                  []struct{ Expr, LegendFormat string }
	Datasource               struct{ Type, UID string }
	FieldConfig              struct{ Defaults struct{ Unit string } }
	GridPos                  struct{ X, Y, W, H int }
}

// TestDashboardIsComplete checks that the dashboard shows all metrics of the daemon, that each panel is
// complete, and that no two panels overlap.
func TestDashboardIsComplete(t *testing.T) {
	t.Parallel()
	var dashboard struct{ Panels []dashboardPanel }
	harness.Must(t, json.Unmarshal([]byte(read(t, "../../deploy/grafana/placementsync.json")), &dashboard))
	labelsByMetric := metricLabels(t)
	missing := map[string]bool{}
	for name := range labelsByMetric {
		missing[name] = true
	}
	taken := map[[2]int]string{}
	for _, p := range dashboard.Panels {
		for x := range p.GridPos.W {
			for y := range p.GridPos.H {
				cell := [2]int{p.GridPos.X + x, p.GridPos.Y + y}
				if otherTitle, ok := taken[cell]; ok || cell[0] >= 24 { // a page of Grafana has 24 columns
					t.Fatalf("the panel %q overlaps %q or exceeds the page", p.Title, otherTitle)
				}
				taken[cell] = p.Title
			}
		}
		if p.Type == "row" {
			continue
		}
		if p.Description == "" || p.FieldConfig.Defaults.Unit == "" || p.Datasource.UID != "${datasource}" || len(p.Targets) == 0 {
			t.Errorf("the panel %q has no description, unit, query or data source: %+v", p.Title, p)
		}
		for _, target := range p.Targets {
			for _, name := range checkExpression(t, "the panel "+p.Title, target.Expr, labelsByMetric, target.LegendFormat) {
				delete(missing, name)
			}
		}
	}
	for name := range missing {
		t.Errorf("no panel of deploy/grafana/placementsync.json shows %s", name)
	}
}

// alertRule is a rule of deploy/prometheus/rules.yaml.
type alertRule struct{ name, text, expr string }

// readAlertRules parses the rules by their layout. promtool checks their syntax.
func readAlertRules(t *testing.T) []alertRule {
	t.Helper()
	var all []alertRule
	for _, text := range strings.Split(read(t, "../../deploy/prometheus/rules.yaml"), "\n      - alert: ")[1:] {
		name, rest, _ := strings.Cut(text, "\n")
		expr, _, _ := strings.Cut(textAfter(rest, "expr: "), "labels: ")
		all = append(all, alertRule{name, rest, expr})
	}
	return all
}

// alarmsPage returns docs/alarms.md, which has the summary and the description of each rule. "…" replaces a value
// that only Prometheus knows.
func alarmsPage(t *testing.T) string {
	t.Helper()
	plain := strings.NewReplacer(" on {{ $labels.instance }}", "", "\n            ", " ", "\"", "")
	conditional, value := regexp.MustCompile(`\{\{ ?(?:with|if) .*?\{\{ ?end ?\}\}`), regexp.MustCompile(`\{\{.*?\}\}`)
	text := func(rule, from, to string) string {
		part, _, _ := strings.Cut(textAfter(rule, from), to)
		return value.ReplaceAllString(conditional.ReplaceAllString(plain.Replace(part), ""), "…")
	}
	page := "# Alarms\n\nFor operators: what each alarm of [deploy/prometheus](../deploy/prometheus) means, and what to do. " +
		"`make docs` writes this page from the rules. \"…\" stands for a value that the alarm contains.\n"
	for _, a := range readAlertRules(t) {
		severity, _, _ := strings.Cut(textAfter(a.text, "severity: "), "}")
		page += fmt.Sprintf("\n## %s\n\n%s: %s. %s\n", a.name, strings.ToUpper(severity[:1])+severity[1:],
			text(a.text, "summary: ", "\n"), text(a.text, "description: >-\n            ", "\n          runbook_url:"))
	}
	return page
}

// TestAlertRulesAreTested compares the rules with the metrics and with the tests of the rules. TestDocs compares
// docs/alarms.md with the rules.
func TestAlertRulesAreTested(t *testing.T) {
	t.Parallel()
	labelsByMetric, tests := metricLabels(t), read(t, "../../deploy/prometheus/rules_test.yaml")+read(t, "../../deploy/prometheus/rules_days_test.yaml")
	rules := readAlertRules(t)
	for _, a := range rules {
		if len(checkExpression(t, "the alert "+a.name, a.expr, labelsByMetric, a.text)) == 0 && a.name != "PlacementsyncDown" { // this rule uses "up", a metric of Prometheus
			t.Errorf("the alert %s uses no metric of the daemon", a.name)
		}
		for _, want := range []string{"labels: {severity: ", "summary: ", "description: ", "runbook_url: docs/alarms.md#" + strings.ToLower(a.name) + "\n"} {
			if !strings.Contains(a.text, want) {
				t.Errorf("the alert %s lacks %q", a.name, want)
			}
		}
		if !strings.Contains(tests, `alertname="`+a.name+`", alertstate="firing"`) {
			t.Errorf("no test of deploy/prometheus makes the alert %s fire", a.name)
		}
	}
	if len(rules) < 20 {
		t.Errorf("%d alerts were read, want at least 20", len(rules))
	}
}

// TestTrialAlertRules checks the rules and runs their tests with promtool.
func TestTrialAlertRules(t *testing.T) {
	harness.Long(t)
	t.Parallel()
	promtool, err := exec.LookPath("promtool")
	if err != nil {
		t.Skip("promtool was not found: install it with apt-get install prometheus")
	}
	for _, args := range [][]string{{"check", "rules", "--lint=all", "--lint-fatal", "rules.yaml"}, {"check", "config", "prometheus.yml"},
		{"test", "rules", "rules_test.yaml", "rules_days_test.yaml"}} {
		cmd := exec.CommandContext(t.Context(), promtool, args...)
		cmd.Dir = filepath.Join("..", "..", "deploy", "prometheus")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("promtool %s: %v\n%s", strings.Join(args, " "), err, out)
		}
	}
}

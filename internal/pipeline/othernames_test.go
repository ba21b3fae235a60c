package pipeline_test

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"time"

	"placementsync/internal/audit"
	"placementsync/internal/pipeline"
	"placementsync/internal/query"
	"placementsync/internal/sim"
	testharness "placementsync/internal/testing/harness"
	"placementsync/internal/warehouse"
)

// TestUnknownFieldGetsColumn runs a night in which three columns have unknown names, and nights
// that know the names: the values move from extra to the columns of every row, once, and no check holds the night.
func TestUnknownFieldGetsColumn(t *testing.T) {
	h := newHarness(t, sim.Options{Seed: 1, Token: token, Outlets: 4, Listings: 9, Profiles: 80, Campaigns: 60, Orders: 80, Files: 1, Folders: 1},
		"profiles", "campaigns", "campaign_articles", "tags")
	h.cfg.Chosen = []string{"profiles", "campaigns", "campaign_articles"}
	all, err := audit.Load("", nil, nil)
	testharness.Must(t, err)
	var ofAnyTable []string // the other checks query tables that this warehouse does not have
	for _, q := range all.List() {
		if q.Each != "" && q.Each != query.EachReference {
			ofAnyTable = append(ofAnyTable, q.Name)
		}
	}
	h.cfg.Checks, err = all.Choose(ofAnyTable)
	testharness.Must(t, err)
	h.cfg.CheckTimeout = time.Minute
	for _, prefix := range []string{"pending-content-brief", "brief-ready-for-review", "draft-ready-for-review", "request-revision", "needs-info", "pending-publishing"} {
		h.cfg.Warehouse.Statuses = append(h.cfg.Warehouse.Statuses, warehouse.Status{Prefix: prefix, State: "open"})
	}
	h.service.SetFaults(sim.Fault{Kind: sim.FaultRewrite, Rewrite: func(body []byte) []byte {
		for _, name := range []string{"drive_link", "brief_doc_url", "draft_doc_url"} {
			body = bytes.ReplaceAll(body, []byte(`"`+name+`":null`), []byte(`"wire_`+name+`":"x"`))
			body = bytes.ReplaceAll(body, []byte(`"`+name+`":`), []byte(`"wire_`+name+`":`))
		}
		return body
	}})
	tables := map[string]string{"profiles": "drive_link", "campaign_articles": "brief_doc_url"}
	var log lockedBuffer
	h.logTo(&log)
	h.requireComplete(h.night())
	h.requireLines("SELECT outcome, rows FROM meta.checks WHERE check_name = 'fields_renamed'", "failed 2")
	if n := strings.Count(log.String(), `msg="stream `); n != len(h.cfg.Chosen) {
		t.Errorf("the log names %d streams, want only the %d chosen ones:\n%s", n, len(h.cfg.Chosen), log.String())
	}
	if line := "api.fields: {campaign_articles.brief_doc_url: wire_brief_doc_url, campaign_articles.draft_doc_url: wire_draft_doc_url}"; !strings.Contains(log.String(), line) {
		t.Errorf("the log of the night lacks %q:\n%s", line, log.String())
	}
	plan, err := pipeline.PlanNight(t.Context(), h.cfg)
	testharness.Must(t, err)
	var renamed []string
	for _, f := range plan.Renamed {
		renamed = append(renamed, f.Column+": "+f.Field)
	}
	if want := []string{"profiles.drive_link: wire_drive_link"}; !slices.Equal(want, renamed) {
		t.Errorf("the plan has the renamed fields %q, want %q", renamed, want)
	}
	hiding := h.cfg
	hiding.Privacy.Drop = []string{"profiles.drive_link"} // empty in every row, also without a renamed field
	if plan, err = pipeline.PlanNight(t.Context(), hiding); err != nil || len(plan.Renamed) > 0 {
		t.Errorf("the plan has the renamed fields %+v (%v), want none for a private column", plan.Renamed, err)
	}
	moved := map[string]string{}
	for table, column := range tables {
		h.requireLines("SELECT count("+column+") FROM "+table, "0")
		moved[table] = h.singleLine("SELECT count(*) FROM " + table + " WHERE json_exists(extra, 'wire_" + column + "')")
		if moved[table] == "0" {
			t.Errorf("no row of %s has an unknown field", table)
		}
	}

	h.cfg.OtherNames = map[string]string{"profiles.drive_link": "wire_drive_link",
		"campaign_articles.brief_doc_url": "wire_brief_doc_url", "campaign_articles.draft_doc_url": "wire_draft_doc_url"}
	plan, err = pipeline.PlanNight(t.Context(), h.cfg)
	testharness.Must(t, err)
	if len(plan.Renamed) > 0 {
		t.Errorf("the plan has the renamed fields %+v, although the configuration names them", plan.Renamed)
	}
	for range 2 {
		res := h.requireComplete(h.unchangedNight())
		for _, c := range res.Run.Checks {
			t.Errorf("the check %s (%s) found %d rows", c.Name, c.Severity, c.Rows)
		}
		for table, column := range tables {
			h.requireLines("SELECT count("+column+"), count(*) FILTER (extra::VARCHAR LIKE '%wire_%') FROM "+table, moved[table]+" 0")
			h.requireLines("SELECT count(*) FROM past."+table, moved[table])
		}
	}
}

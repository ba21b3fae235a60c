package bench_test

import (
	"os/exec"
	"testing"
)

// Names of two figures. Only the first is a main figure. An audit compares whole columns of a table
// only if at least a tenth of the rows of the table changed, so 20 % is measured too.
const (
	auditShare   = "audit of a night, 1 % changed, share of its CPU time"
	auditShare20 = "audit of a night, 20 % changed, share of its CPU time"
)

// measureAudit divides the CPU time of audits by the CPU time of their nights. Every night audits
// its snapshot. The command "audit" repeats the audit in a separate process, which can be measured.
func measureAudit(t *testing.T, s settings) findings {
	t.Helper()
	nightCPU, auditCPU := auditedNights(t, s, world{Listings: s.listings, CatalogOnly: true})
	nightCPU20, auditCPU20 := auditedNights(t, s, world{Listings: s.listings, CatalogOnly: true, Change: 0.2})
	percentages := func(audits, nights []float64) []float64 {
		return valuesOf(pairedRatios(audits, nights), func(ratio float64) float64 { return 100 * ratio })
	}
	return findings{
		Figures: []figure{{Name: auditShare, Unit: "%", Runs: percentages(auditCPU, nightCPU)}},
		OtherFigures: []figure{
			{Name: auditShare20, Unit: "%", Runs: percentages(auditCPU20, nightCPU20)},
			{Name: "audit of a night, 1 % changed, CPU time", Unit: "s", Runs: auditCPU},
			{Name: "audited night, 1 % changed, CPU time", Unit: "s", Runs: nightCPU},
			{Name: "audit of a night, 20 % changed, CPU time", Unit: "s", Runs: auditCPU20},
			{Name: "audited night, 20 % changed, CPU time", Unit: "s", Runs: nightCPU20},
		},
	}
}

// auditedNights runs nights and repeats the audit of each. It returns the CPU times of the nights
// and of the audits. The first night is left out.
func auditedNights(t *testing.T, s settings, w world) (nightCPU, auditCPU []float64) {
	t.Helper()
	all := runNights(t, s, w, 1+s.runs, func(j job) {
		audit := exec.CommandContext(t.Context(), s.binary, "audit", "--config", j.writeConfig(t))
		auditCPU = append(auditCPU, measure(t, audit).CPU)
	})
	return valuesOf(all[1:], cpuOf), auditCPU[1:]
}

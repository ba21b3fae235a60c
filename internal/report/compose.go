package report

import (
	"fmt"
	"slices"
	"time"

	"placementsync/internal/page"
)

func (b *builder) buildPage() (Page, error) {
	var err error
	if b.snapshots, err = b.readSnapshots(); err != nil {
		return Page{}, err
	}
	p := Page{
		Snapshot: page.Clock(b.snapshots.at), Run: b.snapshots.run, Outcome: b.snapshots.outcome,
		Compared: b.snapshots.comparedSnapshots(),
	}
	if !b.opts.Earlier && !b.opts.Held {
		p.AsOf = b.snapshots.at.UTC().Format(momentLayout)
	}
	attention, err := b.buildAttention()
	if err != nil {
		return p, err
	}
	headlines, err := b.buildHeadlines()
	if err != nil {
		return p, err
	}
	p.Sections = append(p.Sections, attention, headlines)
	for _, s := range allSections() {
		shown, err := b.buildSection(s)
		if err != nil {
			return p, err
		}
		p.Sections = append(p.Sections, shown)
	}
	p.Currencies = b.currencies
	return p, nil
}

// allSections lists the sections after the headlines.
func allSections() []section {
	return []section{pricesSection, commissionsSection, articlesSection, qualitySection}
}

// isShownStream reports whether the page shows numbers from a stream. For example, the page shows none
// from webhook events.
func isShownStream(stream string) bool {
	return slices.ContainsFunc(allSections(), func(s section) bool { return slices.Contains(s.streams, stream) })
}

// buildHeadlines compares the headline numbers of the report's snapshot with the headline numbers of up
// to two earlier snapshots. The query itself computes the changes of median prices: its parameter "since"
// is the time of the earlier snapshot.
func (b *builder) buildHeadlines() (Section, error) {
	out := Section{ID: "headlines", Title: "Headlines"}
	current := QuerySpec{Query: "report_headlines"}
	result, ok, err := b.askQuery(current)
	if err != nil {
		return out, err
	}
	if !ok || len(result.Rows) == 0 {
		out.Empty = "This snapshot lacks a table that the headlines need."
		return out, nil
	}
	out.Commands = []Command{b.commandOf(current)}
	var earlier []earlierFigures
	for _, e := range []earlierFigures{{comparison: "vs previous", at: b.snapshots.previous}, {comparison: "vs week", at: b.snapshots.week}} {
		if e.at.IsZero() {
			continue
		}
		q := current
		q.AsOf = e.at
		figures, ok, err := b.askQuery(q)
		if err != nil {
			return out, err
		}
		if !ok {
			continue
		}
		e.values = figuresByLabel(figures)
		priceQuery := current
		priceQuery.Params = map[string]string{"since": e.at.UTC().Format(momentLayout)}
		priceFigures, ok, err := b.askQuery(priceQuery)
		if err != nil {
			return out, err
		}
		if ok {
			e.priceChanges = medianPriceChanges(priceFigures, e.comparison)
		}
		command, priceCommand := b.commandOf(q), b.commandOf(priceQuery)
		command.Label, priceCommand.Label = e.comparison, "prices "+e.comparison
		out.Commands, earlier = append(out.Commands, command, priceCommand), append(earlier, e)
	}
	for _, row := range result.Rows {
		out.Tiles = append(out.Tiles, newTile(result, row, earlier))
	}
	return out, nil
}

// snapshots contains the snapshot of the report, and the times of the snapshots with which it is compared.
type snapshots struct {
	// at is the time of the snapshot of the report. previous is the time of the snapshot before it. week
	// is the time of the newest snapshot before previous that is at least six and a half days older than
	// the report's. Both are zero if there is no such snapshot.
	at, previous, week time.Time
	// run and outcome describe the snapshot of the report.
	run, outcome string
}

// maxSnapshots limits the snapshots that are read. A week of hourly snapshots has 168.
const maxSnapshots = 400

// readSnapshots finds the snapshots to compare. Nights do not start at the same time each day, so six and
// a half days count as a week.
func (b *builder) readSnapshots() (snapshots, error) {
	result, ok, err := b.askQuery(QuerySpec{Query: "snapshots", Params: map[string]string{"top": fmt.Sprint(maxSnapshots)}})
	if err != nil {
		return snapshots{}, err
	}
	if !ok || len(result.Rows) == 0 {
		return snapshots{}, fmt.Errorf("read the snapshots: the warehouse has none")
	}
	newest := result.Rows[0]
	s := snapshots{run: newest.Get("run_id").Text, outcome: newest.Get("outcome").Text}
	const week, slack = 7 * 24 * time.Hour, 12 * time.Hour
	for i, row := range result.Rows {
		at, err := time.Parse(time.RFC3339Nano, row.Get("snapshot_at").Text)
		switch {
		case err != nil:
			return snapshots{}, fmt.Errorf("read the snapshots: %w", err)
		case i == 0:
			s.at = at
		case i == 1:
			s.previous = at
		}
		if s.week.IsZero() && !at.After(s.at.Add(slack-week)) {
			s.week = at
		}
	}
	if s.week.Equal(s.previous) { // one snapshot is compared once
		s.week = time.Time{}
	}
	return s, nil
}

func (s snapshots) comparedSnapshots() []ComparedSnapshot {
	var list []ComparedSnapshot
	if !s.previous.IsZero() {
		list = append(list, ComparedSnapshot{"the previous snapshot", page.Clock(s.previous)})
	}
	if !s.week.IsZero() {
		list = append(list, ComparedSnapshot{"last week", page.Clock(s.week)})
	}
	return list
}

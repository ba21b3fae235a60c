package report

import (
	"fmt"
	"slices"
)

// buildPage asks for everything, in the order in which it is shown.
func (b *builder) buildPage() (Page, error) {
	var err error
	if b.now, err = b.readMoments(); err != nil {
		return Page{}, err
	}
	p := Page{
		Snapshot: formatClock(b.now.at), Run: b.now.run, Outcome: b.now.outcome, Tone: tagOf(b.now.outcome),
		Later: b.now.at.UTC().Format(momentLayout), Since: b.now.comparedSnapshots(),
	}
	if p.Notices, err = b.buildNotices(); err != nil {
		return p, err
	}
	headlines, err := b.buildHeadlines()
	if err != nil {
		return p, err
	}
	p.Sections = append(p.Sections, headlines)
	for _, s := range allSections() {
		shown, err := b.buildSection(s)
		if err != nil {
			return p, err
		}
		p.Sections = append(p.Sections, shown)
	}
	p.Charts = b.charts
	return p, nil
}

// allSections lists what follows the headlines.
func allSections() []section {
	return []section{pricesSection, commissionsSection, articlesSection, qualitySection}
}

// isShownStream reports whether numbers of the page come from the stream. Webhook
// events give none.
func isShownStream(stream string) bool {
	return slices.ContainsFunc(allSections(), func(s section) bool { return slices.Contains(s.streams, stream) })
}

// buildNotices warns of a partial night and of streams that this night did not read.
func (b *builder) buildNotices() ([]Notice, error) {
	a, ok, err := b.askIfPresent(Question{Query: "stream_grades", Rows: rowsRead})
	if err != nil || !ok {
		return nil, err
	}
	var carried, missing []string
	b.skipped = map[string]string{}
	for _, row := range a.Rows {
		stream, reason := a.textOf(row, "stream"), a.textOf(row, "reason")
		switch a.textOf(row, "grade") {
		case "carried_forward":
			carried = append(carried, fmt.Sprintf("%s: rows of %s UTC (%s)", stream, formatMoment(a.textOf(row, "oldest_at")), reason))
		case "best_effort":
			carried = append(carried, fmt.Sprintf("%s: read without proof that nothing is missing (%s)", stream, reason))
		case "skipped":
			b.skipped[stream] = reason
			if isShownStream(stream) {
				missing = append(missing, fmt.Sprintf("%s: %s", stream, reason))
			}
		}
	}
	var notices []Notice
	if b.now.outcome == "partial" || len(carried) > 0 {
		notices = append(notices, Notice{Title: "This snapshot is partial: some streams were not read, or not completely.", Lines: carried})
	}
	if len(missing) > 0 {
		notices = append(notices, Notice{Title: "These streams were never read; their numbers are missing here:", Lines: missing})
	}
	return notices, nil
}

// rowsRead bounds what is read of an answer that a chart or a sum needs whole.
const rowsRead = 2000

// buildHeadlines are the numbers of one query, asked at up to three times.
func (b *builder) buildHeadlines() (Section, error) {
	out := Section{ID: "headlines", Title: "Headlines"}
	now := Question{Query: "report_headlines", Rows: rowsRead}
	a, ok, err := b.askIfPresent(now)
	if err != nil {
		return out, err
	}
	if !ok || len(a.Rows) == 0 {
		out.Empty = "This snapshot lacks a table that the headlines need."
		return out, nil
	}
	out.Sources = []Source{b.sourceOf(now)}
	var before []earlierFigures
	for _, e := range []earlierFigures{{since: "vs last", at: b.now.previous}, {since: "vs week", at: b.now.week}} {
		if e.at.IsZero() {
			continue
		}
		q := now
		q.AsOf = e.at
		old, ok, err := b.askIfPresent(q)
		if err != nil {
			return out, err
		}
		if !ok {
			continue
		}
		e.values = figuresByLabel(old)
		source := b.sourceOf(q)
		source.Label = e.since
		out.Sources, before = append(out.Sources, source), append(before, e)
	}
	for _, row := range a.Rows {
		out.Tiles = append(out.Tiles, newTile(a, row, before))
	}
	return out, nil
}

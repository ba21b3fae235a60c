package report

import (
	"slices"
	"time"

	"placementsync/internal/ledger"
	"placementsync/internal/page"
)

func (b *builder) buildPage() (Page, error) {
	var err error
	if b.now, err = b.readMoments(); err != nil {
		return Page{}, err
	}
	p := Page{
		Snapshot: page.Clock(b.now.at), Run: b.now.run, Outcome: b.now.outcome,
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
	p.Currencies = b.currencies
	return p, nil
}

// allSections lists the sections after the headlines.
func allSections() []section {
	return []section{pricesSection, commissionsSection, articlesSection, qualitySection}
}

// isShownStream reports whether the page shows numbers from a stream. It shows none from webhook
// events.
func isShownStream(stream string) bool {
	return slices.ContainsFunc(allSections(), func(s section) bool { return slices.Contains(s.streams, stream) })
}

// buildNotices lists the streams that are not proven. A night is partial if a stream was not
// read, or not completely, for a reason that the operator can remove. A night is complete even
// if the token may not read a stream or a stream could not be proven.
func (b *builder) buildNotices() ([]Notice, error) {
	a, ok, err := b.askQuery(Question{Query: "stream_grades", Rows: maxRows})
	if err != nil || !ok {
		return nil, err
	}
	partial := Notice{Title: "This snapshot is partial. Some streams were not read, or not completely:", Alarm: true}
	missing := Notice{Title: "These streams were never read. Their numbers are missing:"}
	unsure := Notice{Title: "Rows of these streams may be old or missing:"}
	for _, row := range a.Rows {
		p := ledger.Problem{Name: a.textOf(row, "stream"), Standing: ledger.StandingOf(a.textOf(row, "grade")), Reason: clipText(a.textOf(row, "reason"))}
		p.Since, _ = time.Parse(time.RFC3339Nano, a.textOf(row, "oldest_at")) // not every stream has an age
		failed, _ := a.valueOf(row, "failed").Number()
		line := ledger.DescribeProblems([]ledger.Problem{p})
		switch {
		case p.Standing == ledger.Proven:
		case p.Standing == ledger.Carried && b.now.outcome == string(ledger.Partial), failed > 0:
			partial.Lines = append(partial.Lines, line)
		case !isShownStream(p.Name):
		case p.Standing == ledger.NotRead:
			missing.Lines = append(missing.Lines, line)
		default:
			unsure.Lines = append(unsure.Lines, line)
		}
	}
	return slices.DeleteFunc([]Notice{partial, missing, unsure}, func(n Notice) bool {
		return len(n.Lines) == 0 && !(n.Alarm && b.now.outcome == string(ledger.Partial))
	}), nil
}

// maxRows limits the rows of a result.
const maxRows = 2000

// buildHeadlines runs one query on up to three snapshots and compares the numbers.
func (b *builder) buildHeadlines() (Section, error) {
	out := Section{ID: "headlines", Title: "Headlines"}
	now := Question{Query: "report_headlines", Rows: maxRows}
	a, ok, err := b.askQuery(now)
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
		old, ok, err := b.askQuery(q)
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

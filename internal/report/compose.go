package report

import (
	"slices"

	"placementsync/internal/page"
)

func (b *builder) buildPage() (Page, error) {
	var err error
	if b.moments, err = b.readMoments(); err != nil {
		return Page{}, err
	}
	p := Page{
		Snapshot: page.Clock(b.moments.at), Run: b.moments.run, Outcome: b.moments.outcome,
		Compared: b.moments.comparedSnapshots(),
	}
	if !b.opts.Earlier && !b.opts.Held {
		p.AsOf = b.moments.at.UTC().Format(momentLayout)
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
	current := Question{Query: "report_headlines"}
	result, ok, err := b.askQuery(current)
	if err != nil {
		return out, err
	}
	if !ok || len(result.Rows) == 0 {
		out.Empty = "This snapshot lacks a table that the headlines need."
		return out, nil
	}
	out.Sources = []Source{b.sourceOf(current)}
	var earlier []earlierFigures
	for _, e := range []earlierFigures{{comparison: "vs previous", at: b.moments.previous}, {comparison: "vs week", at: b.moments.week}} {
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
		priceQuestion := current
		priceQuestion.Params = map[string]string{"since": e.at.UTC().Format(momentLayout)}
		prices, ok, err := b.askQuery(priceQuestion)
		if err != nil {
			return out, err
		}
		if ok {
			e.prices = priceChanges(prices, e.comparison)
		}
		source, priceSource := b.sourceOf(q), b.sourceOf(priceQuestion)
		source.Label, priceSource.Label = e.comparison, "prices "+e.comparison
		out.Sources, earlier = append(out.Sources, source, priceSource), append(earlier, e)
	}
	for _, row := range result.Rows {
		out.Tiles = append(out.Tiles, newTile(result, row, earlier))
	}
	return out, nil
}

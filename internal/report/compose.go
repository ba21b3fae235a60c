package report

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"placementsync/internal/html"
	"placementsync/internal/humanize"
	"placementsync/internal/ledger"
)

func (b *builder) buildPage() (Page, error) {
	var err error
	if b.snapshots, err = b.readSnapshots(); err != nil {
		return Page{}, err
	}
	if b.opts.Client.ID != "" {
		return b.buildClientPage()
	}
	p := Page{
		Snapshot: html.Clock(b.snapshots.at), Run: b.snapshots.run, Outcome: b.snapshots.outcome,
		Compared: b.snapshots.compared,
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
	p.Attention, p.NotKnown = attention, b.describeUnknown(headlines)
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

// describeUnknown returns the line on the streams without rows, and on the headlines that count unknown values.
func (b *builder) describeUnknown(headlines Section) string {
	var parts []string
	if len(b.notRead) > 0 {
		parts = append(parts, ledger.DescribeProblems(b.notRead))
	}
	for _, t := range headlines.Tiles {
		if strings.Contains(t.Label, " without a known ") && t.Value != "0" && !t.NotRead {
			parts = append(parts, humanize.LowerFirst(t.Label)+": "+t.Value)
		}
	}
	if len(parts) == 0 {
		return "All streams behind these numbers were read."
	}
	return "Not known: " + strings.Join(parts, "; ") + "."
}

func allSections() []section {
	return []section{pricesSection, commissionsSection, articlesSection, qualitySection}
}

// isShownStream reports whether the page shows numbers from a stream. It is false for webhook events.
func isShownStream(stream string) bool {
	return slices.ContainsFunc(allSections(), func(s section) bool { return slices.Contains(s.streams, stream) })
}

// buildHeadlines compares the headline numbers with those of up to two earlier snapshots. The query itself
// computes the changes of median prices: its parameter "since" is the time of the earlier snapshot.
func (b *builder) buildHeadlines() (Section, error) {
	out := Section{ID: "headlines", Title: "Headlines"}
	current := QuerySpec{Query: "report_headlines"}
	result, ok, err := b.ask(b.ctx, current)
	if err != nil {
		return out, err
	}
	if !ok || len(result.Rows) == 0 {
		out.Empty = "This snapshot lacks a table that the headlines need."
		return out, nil
	}
	out.Commands = []Command{b.commandOf(current)}
	var earlier []earlierFigures
	for _, c := range b.snapshots.compared {
		q := current
		q.AsOf = c.At
		figures, ok, err := b.ask(b.ctx, q)
		if err != nil {
			return out, err
		}
		if !ok {
			continue
		}
		e := earlierFigures{comparison: c.Comparison, values: figuresByLabel(figures)}
		priceQuery := current
		priceQuery.Params = map[string]string{"since": c.At.UTC().Format(momentLayout)}
		priceFigures, ok, err := b.ask(b.ctx, priceQuery)
		if err != nil {
			return out, err
		}
		if ok {
			e.priceChanges = medianPriceChanges(priceFigures)
		}
		earlier = append(earlier, e)
		command, priceCommand := b.commandOf(q), b.commandOf(priceQuery)
		command.Label, priceCommand.Label = c.Comparison, "prices "+c.Comparison
		out.Commands = append(out.Commands, command, priceCommand)
	}
	for _, row := range result.Rows {
		out.Tiles = append(out.Tiles, newTile(result, row, earlier))
	}
	return out, nil
}

type snapshots struct {
	at           time.Time
	run, outcome string
	compared     []ComparedSnapshot
}

// maxSnapshots limits the snapshots that are read. A week of hourly snapshots has 168.
const maxSnapshots = 400

// readSnapshots finds the snapshots to compare: the previous one and, if that is less than a week old, the newest
// that is at least one and less than two weeks old. Nights do not start at the same time each day, so six and a half
// days count as a week.
func (b *builder) readSnapshots() (snapshots, error) {
	result, ok, err := b.ask(b.ctx, QuerySpec{Query: "snapshots", Params: map[string]string{"top": fmt.Sprint(maxSnapshots)}})
	if err != nil {
		return snapshots{}, err
	}
	if !ok || len(result.Rows) == 0 {
		return snapshots{}, fmt.Errorf("read the snapshots: the warehouse has none")
	}
	times := make([]time.Time, len(result.Rows))
	for i, row := range result.Rows {
		if times[i], err = time.Parse(time.RFC3339Nano, row.Get("snapshot_at").Text); err != nil {
			return snapshots{}, fmt.Errorf("read the snapshots: %w", err)
		}
	}
	newest := result.Rows[0]
	s := snapshots{at: times[0], run: newest.Get("run_id").Text, outcome: newest.Get("outcome").Text}
	if len(times) > 1 {
		s.compared = append(s.compared, ComparedSnapshot{"the previous snapshot", "vs previous", times[1]})
	}
	const week, slack = 7 * 24 * time.Hour, 12 * time.Hour
	i := slices.IndexFunc(times, func(at time.Time) bool { return !at.After(s.at.Add(slack - week)) })
	if i > 1 && s.at.Sub(times[i]) < 2*week {
		s.compared = append(s.compared, ComparedSnapshot{"last week", "vs week", times[i]})
	}
	return s, nil
}

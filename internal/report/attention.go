package report

import (
	"encoding/json"
	"slices"
	"strings"
	"time"

	"placementsync/internal/humanize"
	"placementsync/internal/ledger"
	"placementsync/internal/query"
	"placementsync/internal/stream"
)

const maxShownRows = 3 // rows of a failed check, or late articles; the command of the notice prints all

// buildAttention shows the notices of the options, failed checks, unproven streams and late articles. If there is
// none, it shows the good news of the functions that found their data.
func (b *builder) buildAttention() (Section, error) {
	s := Section{ID: "attention", Title: "Needs attention", Notices: b.opts.Notices}
	var goodNews []string
	for _, find := range []func() ([]Notice, string, error){b.findFailedChecks, b.findUnprovenStreams, b.findLateArticles} {
		notices, text, err := find()
		if err != nil {
			return s, err
		}
		s.Notices = slices.Concat(s.Notices, notices)
		if text != "" {
			goodNews = append(goodNews, text)
		}
	}
	if len(s.Notices) == 0 {
		s.Empty = strings.Join(goodNews, " ")
	}
	return s, nil
}

func (b *builder) findFailedChecks() (notices []Notice, goodNews string, err error) {
	q := QuerySpec{Query: "check_results"}
	result, ok, err := b.ask(b.ctx, q)
	if err != nil || !ok || len(result.Rows) == 0 {
		return nil, "", err
	}
	n := Notice{Title: "Checks of this snapshot failed or did not run:", Alarm: true, Command: b.commandOf(q)}
	for _, row := range result.Rows {
		rows, _ := row.Get("rows").Number()
		c := ledger.CheckResult{
			Name: row.Get("check_name").Text, Outcome: ledger.CheckOutcome(row.Get("outcome").Text),
			Rows: int64(rows), Sample: json.RawMessage(row.Get("sample").Text),
		}
		if !c.NeedsAttention() {
			continue
		}
		line := ledger.DescribeChecks([]ledger.CheckResult{c})
		if samples := c.SampleLines(); len(samples) > 0 {
			line += ": " + strings.Join(samples[:min(len(samples), maxShownRows)], "; ")
		} else if reason := row.Get("reason").Text; reason != "" {
			line += ": " + reason
		}
		n.Lines = append(n.Lines, clipText(line))
	}
	if len(n.Lines) == 0 {
		return nil, "No check failed.", nil
	}
	return []Notice{n}, "", nil
}

// findUnprovenStreams returns notices with the streams whose rows may be missing or old. A night is
// partial if a stream failed, or if an earlier night read a stream that this night may not read. A list that changed
// too much to be proven does not make a night partial. findUnprovenStreams also sets b.unused and b.notRead.
func (b *builder) findUnprovenStreams() (notices []Notice, goodNews string, err error) {
	q := QuerySpec{Query: "stream_grades"}
	result, ok, err := b.ask(b.ctx, q)
	if err != nil || !ok {
		return nil, "", err
	}
	isPartial := b.snapshots.outcome == string(ledger.Partial)
	partial := Notice{Title: "This snapshot is partial. Some streams were not read, or not completely:", Alarm: true, Command: b.commandOf(q)}
	neverRead := Notice{Title: "These streams were never read. Their numbers are missing:", Command: b.commandOf(q)}
	unproven := Notice{Title: "Rows of these streams may be old or missing:", Command: b.commandOf(q)}
	for _, row := range result.Rows {
		s := ledger.Stream{Stream: row.Get("stream").Text, Grade: stream.Grade(row.Get("grade").Text), Reason: clipText(row.Get("reason").Text)}
		s.AgeSince, _ = time.Parse(time.RFC3339Nano, row.Get("oldest_at").Text) // streams without rows have no age
		failedIDs, _ := row.Get("failed").Number()
		standing := ledger.StandingOf(s.Grade)
		isShown := isShownStream(s.Stream) // in the numbers of the report
		line := ledger.DescribeProblems([]ledger.Problem{s.Problem()})
		if standing == ledger.NotRead && isShown {
			b.notRead = append(b.notRead, s.Problem())
		}
		if s.IsUnused() {
			b.unused = append(b.unused, s.Problem())
			continue
		}
		if standing == ledger.Proven {
			continue
		}
		isCarriedUnasked := standing == ledger.Carried && !s.IsExcluded()
		switch {
		case failedIDs > 0, isPartial && isCarriedUnasked:
			partial.Lines = append(partial.Lines, line)
		case isShown && standing == ledger.NotRead:
			neverRead.Lines = append(neverRead.Lines, line)
		case isShown:
			unproven.Lines = append(unproven.Lines, line)
		}
	}
	if isPartial || len(partial.Lines) > 0 {
		notices = append(notices, partial)
	}
	for _, n := range []Notice{neverRead, unproven} {
		if len(n.Lines) > 0 {
			notices = append(notices, n)
		}
	}
	return notices, "All streams behind these numbers are proven.", nil
}

// findLateArticles returns a notice of the articles past the promised date, and one of those past the expected date. If
// both would list the same articles, they are one notice.
func (b *builder) findLateArticles() (notices []Notice, goodNews string, err error) {
	isKnown := true
	var promised query.Result // the rows of the first notice
	for _, late := range []struct {
		past, date, days string
		needs            []string
	}{
		{"promise", "promised date", "days_past_promise", []string{"campaign_articles", "order_items"}},
		{"expected", "expected date", "days_past_expected", []string{"campaign_articles"}},
	} {
		q := QuerySpec{Query: "overdue_articles", Params: map[string]string{"past": late.past}}
		result, ok, err := b.ask(b.ctx, q)
		if err != nil {
			return nil, "", err
		}
		if missing, _ := splitProblems(result, late.needs); !ok || len(missing) > 0 {
			isKnown = false
			continue
		}
		if result.Total == 0 {
			continue
		}
		n := Notice{Title: humanize.Count(result.Total, "article") + " past the " + late.date + ":", Command: b.commandOf(q)}
		for _, row := range result.Rows[:min(len(result.Rows), maxShownRows)] {
			n.Lines = append(n.Lines, rowLabel(row, "article_name", "campaign_name")+separator+
				field{as: asDays}.formatCell(row.Get(late.days))+" late")
		}
		if more := result.Total - int64(len(n.Lines)); more > 0 {
			n.Lines = append(n.Lines, humanize.Number(more)+" more")
		}
		isSameArticle := func(a, b query.Record) bool { return a.Get("article_id") == b.Get("article_id") }
		isRepeated := len(notices) > 0 && slices.Equal(n.Lines, notices[0].Lines) && slices.EqualFunc(result.Rows, promised.Rows, isSameArticle)
		if isRepeated {
			notices[0].Title = humanize.Count(result.Total, "article") + " past the promised and the expected date:"
			notices[0].Command = b.commandOf(QuerySpec{Query: q.Query})
			continue
		}
		notices, promised = append(notices, n), result
	}
	if len(notices) == 0 && isKnown {
		return nil, "No article is late.", nil
	}
	return notices, "", nil
}

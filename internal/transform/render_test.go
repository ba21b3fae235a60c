package transform_test

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"placementsync/internal/stream"
	"placementsync/internal/transform"
)

// row is a decoded row by column, as exact text. NULLs are absent.
type row map[string]string

// rowsOf reads the rows of batches by table.
func rowsOf(t testing.TB, batches []transform.Batch) map[string][]row {
	t.Helper()
	all := map[string][]row{}
	for _, b := range batches {
		for i := range int(b.Rows.NumRows()) {
			r := row{}
			for n, f := range b.Rows.Schema().Fields() {
				if c := b.Rows.Column(n); !c.IsNull(i) {
					r[f.Name] = cell(t, c, i)
				}
			}
			all[b.Table] = append(all[b.Table], r)
		}
	}
	return all
}

func cell(t testing.TB, c arrow.Array, i int) string {
	t.Helper()
	switch c := c.(type) {
	case *array.String:
		return c.Value(i)
	case *array.Boolean:
		return strconv.FormatBool(c.Value(i))
	case *array.Int32:
		return strconv.FormatInt(int64(c.Value(i)), 10)
	case *array.Int64:
		return strconv.FormatInt(c.Value(i), 10)
	case *array.Uint64:
		return strconv.FormatUint(c.Value(i), 10)
	case *array.Decimal128:
		return c.Value(i).ToString(6)
	case *array.Timestamp:
		return time.UnixMicro(int64(c.Value(i))).UTC().Format("2006-01-02T15:04:05.999999Z")
	}
	t.Fatalf("column of unexpected type %s", c.DataType())
	return ""
}

// render returns a decoded body as text, in the format of .want files.
func render(t testing.TB, d *transform.Decoder, page stream.PageFacts, err error) string {
	t.Helper()
	var b strings.Builder
	if err != nil {
		fmt.Fprintf(&b, "error %v\n", err)
	} else {
		renderPage(&b, page)
	}
	for _, batch := range d.Flush() {
		renderBatch(t, &b, batch)
	}
	findings := d.Findings()
	slices.SortFunc(findings.Drift, func(a, b transform.Drift) int {
		return cmp.Or(strings.Compare(a.Table, b.Table), strings.Compare(a.Path, b.Path), strings.Compare(a.Kind, b.Kind))
	})
	for _, r := range findings.Rejects {
		fmt.Fprintf(&b, "\nreject %s key=%q parent=%q column=%q place=%d\n  raw    %s\n  reason %s\n",
			r.Table, r.Key, r.Parent, r.Column, r.Position, r.Raw, r.Reason)
	}
	if len(findings.Drift) > 0 {
		b.WriteByte('\n')
	}
	for _, f := range findings.Drift {
		fmt.Fprintf(&b, "drift %s %s %s x%d %s\n", f.Table, f.Path, f.Kind, f.Count, f.Sample)
	}
	return b.String()
}

func renderPage(b *strings.Builder, p stream.PageFacts) {
	fmt.Fprintf(b, "page records=%d ids=%d", p.Records, len(p.IDs))
	if p.Paginated {
		fmt.Fprintf(b, " total=%d pages=%d next=%d", p.Total, p.TotalPages, p.Next)
	}
	if !p.First.IsZero() || !p.Last.IsZero() {
		fmt.Fprintf(b, " first=%s last=%s", instantText(p.First), instantText(p.Last))
	}
	if p.IsNewestFirst {
		b.WriteString(" newest_first")
	}
	if p.RejectedRecords > 0 {
		fmt.Fprintf(b, " rejected=%d", p.RejectedRecords)
	}
	if p.Copies > 0 {
		fmt.Fprintf(b, " copies=%d", p.Copies)
	}
	if p.IsDoubtful {
		b.WriteString(" empty_object")
	}
	b.WriteByte('\n')
}

func instantText(at time.Time) string {
	if at.IsZero() {
		return "-"
	}
	return at.Format(time.RFC3339Nano)
}

// seqText returns the seq of the response, and the index of the record, which is in the low 20 bits.
func seqText(seq uint64) string { return fmt.Sprintf("%d:%d", seq>>20, seq&(1<<20-1)) }

func renderBatch(t testing.TB, b *strings.Builder, batch transform.Batch) {
	t.Helper()
	seqs := batch.Rows.Column(int(batch.Rows.NumCols()) - 1).(*array.Uint64)
	for i := range int(batch.Rows.NumRows()) {
		fmt.Fprintf(b, "\n%s (%s)\n", batch.Table, seqText(seqs.Value(i)))
		for n, f := range batch.Rows.Schema().Fields() {
			c := batch.Rows.Column(n)
			if c.IsNull(i) || f.Name == stream.RowHash || f.Name == stream.Seq {
				continue
			}
			text := cell(t, c, i)
			isJSON := strings.HasPrefix(text, "{") || strings.HasPrefix(text, "[")
			isPlain := text != "" && strconv.Quote(text) == `"`+text+`"`
			if c.DataType().ID() == arrow.STRING && !isJSON && !isPlain {
				text = strconv.QuoteToASCII(text)
			}
			fmt.Fprintf(b, "  %s = %s\n", f.Name, text)
		}
	}
}

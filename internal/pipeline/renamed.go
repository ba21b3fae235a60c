package pipeline

import (
	"cmp"
	"context"
	"regexp"
	"slices"
	"strings"

	"placementsync/internal/fetch"
	"placementsync/internal/stream"
	"placementsync/internal/transform"
	"placementsync/schema"
)

// RenamedField is an unknown field in most records of a page, with a name similar to a column without values. The check
// fields_renamed finds such fields in a whole snapshot, by the same rule.
type RenamedField struct {
	Column     string // table.column
	Field      string
	similarity float64
}

// findRenamedFields reads one page of each list. A list that cannot be read is left out: a night reports it.
func findRenamedFields(ctx context.Context, client *fetch.Client, cfg Config, token Token) ([]RenamedField, error) {
	definitions, _ := schema.Definitions()
	definitions = stream.WithOtherNames(definitions, cfg.OtherNames)
	private, err := PrivateColumns(cfg.Privacy)
	if err != nil {
		return nil, err
	}
	var all []RenamedField
	for _, s := range cfg.Streams {
		if s.IsEvents() || s.IsDetail() || s.Path == tokenPath || cfg.skipReason(token, s) != "" {
			continue
		}
		binding, err := bindPrivately(s, definitions, cfg.Privacy)
		if err != nil {
			return nil, err
		}
		decoder, param := binding.NewDecoder(), ""
		if strings.Contains(s.Path, "{team_id}") {
			param = token.TeamID
		}
		facts, err := client.ReadFirstPage(ctx, s, param, func(_ context.Context, r fetch.Response) (stream.PageFacts, error) {
			return decoder.Decode(r.Body, transform.Origin{Seq: 1, Param: r.Param, Team: token.TeamID})
		})
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if err == nil {
			all = append(all, renamedFields(facts.Records, decoder.Findings().Drift, decoder.Flush(), private)...)
		}
	}
	return all, nil
}

func renamedFields(records int, drift []transform.Drift, batches []transform.Batch, private []string) []RenamedField {
	var candidates []RenamedField
	for _, b := range batches {
		rows := int(b.Rows.NumRows())
		for i, c := range b.Rows.Schema().Fields() {
			column := b.Table + "." + c.Name
			const minRows = 5
			if rows < minRows || b.Rows.Column(i).NullN() < rows || c.Name == "extra" || slices.Contains(private, column) {
				continue
			}
			for _, d := range drift {
				if d.Table != b.Table || d.Kind != transform.UnknownField || 2*d.Count <= int64(records) {
					continue
				}
				if similarity := similarityOf(c.Name, d.Path); similarity > 0 {
					candidates = append(candidates, RenamedField{column, d.Path, similarity})
				}
			}
		}
		b.Rows.Release()
	}
	slices.SortFunc(candidates, func(a, b RenamedField) int {
		return cmp.Or(cmp.Compare(b.similarity, a.similarity), strings.Compare(a.Column, b.Column), strings.Compare(a.Field, b.Field))
	})
	var best []RenamedField // one field for a column, and one column for a field
	for _, c := range candidates {
		table, _, _ := strings.Cut(c.Column, ".")
		if !slices.ContainsFunc(best, func(o RenamedField) bool {
			return o.Column == c.Column || o.Field == c.Field && strings.HasPrefix(o.Column, table+".")
		}) {
			best = append(best, c)
		}
	}
	return best
}

var (
	wordStart    = regexp.MustCompile(`([a-z0-9])([A-Z])`)
	betweenWords = regexp.MustCompile(`[^a-z0-9]+`)
	// genericWords do not make two names similar.
	genericWords = []string{"id", "url", "name", "date", "at", "is", "type"}
)

// similarityOf returns the share of the words of two names that both have, or 0 if the names are not similar. They are
// similar if they have half of the words of the column in common.
func similarityOf(column, field string) float64 {
	field = betweenWords.ReplaceAllString(strings.ToLower(wordStart.ReplaceAllString(field, "${1}_$2")), "_")
	columnWords, fieldWords := strings.Split(column, "_"), strings.Split(field, "_")
	if (columnWords[len(columnWords)-1] == "id") != (fieldWords[len(fieldWords)-1] == "id") {
		return 0
	}
	common := slices.DeleteFunc(slices.Clone(columnWords), func(word string) bool { return !slices.Contains(fieldWords, word) })
	isGeneric := !slices.ContainsFunc(common, func(word string) bool { return !slices.Contains(genericWords, word) })
	isSame := strings.ReplaceAll(column, "_", "") == strings.ReplaceAll(field, "_", "")
	if !isSame && (isGeneric || 2*len(common) < len(columnWords)) {
		return 0
	}
	return max(float64(len(common))/float64(len(columnWords)+len(fieldWords)-len(common)), 0.01)
}

package transform

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
)

// RenamedField is an unknown field in most records of a page, with a name similar to a column without values. The check
// fields_renamed finds such fields in a whole snapshot, by the same rule.
type RenamedField struct {
	Column     string // table.column
	Field      string
	similarity float64
}

// RenamedFields compares the unknown fields of a page with its columns without values. records is the number of records,
// and private are the private columns, as table.column. RenamedFields releases the batches.
func RenamedFields(records int, drift []Drift, batches []Batch, private []string) []RenamedField {
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
				if d.Table != b.Table || d.Kind != UnknownField || 2*d.Count <= int64(records) {
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
	const minimum = 0.01 // for names that differ only in underscores and have no common word
	return max(float64(len(common))/float64(len(columnWords)+len(fieldWords)-len(common)), minimum)
}

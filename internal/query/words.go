package query

import (
	"regexp"
	"slices"
	"strings"
)

// LabelOf returns the heading of a column in words: the line "heading" of the header or, without one, the heading
// that follows from the name of the column.
func (q Query) LabelOf(column string) string {
	if label, ok := q.Headings[column]; ok {
		return label
	}
	return LabelOf(column)
}

// LabelOf returns the name of a column in words: p50_days becomes "Days, median", and outlet_id "Outlet ID".
func LabelOf(column string) string {
	words := strings.Split(column, "_")
	end := ""
	if len(words) > 2 || len(words) == 2 && words[1] != "percent" {
		end = map[string]string{"p25": ", lower quartile", "p50": ", median", "p75": ", upper quartile", "p90": ", 90th percentile"}[words[0]]
		if end != "" || words[0] == "is" {
			words = words[1:]
		}
	}
	last := len(words) - 1
	records := []string{"article", "campaign", "group", "listing", "outlet", "product", "profile", "status", "writer"}
	switch {
	case last == 0:
	case words[last] == "percent":
		words, end = words[:last], ", %"+end
	case words[last] == "at", words[last] == "name" && slices.Contains(records, words[last-1]):
		words = words[:last]
	}
	for i, word := range words {
		switch word {
		case "min":
			words[i] = "minimum"
		case "max":
			words[i] = "maximum"
		case "timezone":
			words[i] = "time zone"
		case "url", "id":
			words[i] = strings.ToUpper(word)
		}
	}
	label := strings.ReplaceAll(strings.Join(words, " "), "do follow", "do-follow")
	if label == "" {
		return ""
	}
	return strings.ToUpper(label[:1]) + label[1:] + end
}

// IsEnum reports whether a column contains values of an enumeration, by its name: the service sends them as
// FULL_FEATURE or on_hold_review. A segment is the type of a placement or channel, or a country.
func IsEnum(c Column) bool {
	enums := []string{"status", "type", "kind", "tier", "side", "trait", "includes", "included", "waits"}
	isOfEnum := func(word string) bool { return slices.Contains(enums, word) }
	return c.Type == "VARCHAR" && (c.Name == "segment" || slices.ContainsFunc(strings.Split(c.Name, "_"), isOfEnum))
}

// codePattern matches FULL_FEATURE and on_hold_review.
var codePattern = regexp.MustCompile(`^([A-Z][A-Z0-9]*(_[A-Z0-9]+)*|[a-z][a-z0-9]*([_-][a-z0-9]+)*)$`)

// EnumWords returns a value of an enumeration, or a list of such values, as words: Full feature, On hold review.
// Names of channels have the spelling of their owners, and abbreviations stay in capitals. It returns other texts unchanged.
func EnumWords(text string) string {
	for _, separator := range []string{"; ", ", "} {
		if first, rest, ok := strings.Cut(text, separator); ok {
			return EnumWords(first) + separator + EnumWords(rest)
		}
	}
	const maxAbbreviation = 3 // letters, as in SEO and UK
	isAbbreviation := len(text) <= maxAbbreviation && text == strings.ToUpper(text)
	if !codePattern.MatchString(text) || isAbbreviation {
		return text
	}
	switch strings.ToUpper(text) {
	case "LINKEDIN":
		return "LinkedIn"
	case "TIKTOK":
		return "TikTok"
	case "TWITTER_X":
		return "Twitter/X"
	case "YOUTUBE":
		return "YouTube"
	}
	return strings.ToUpper(text[:1]) + strings.NewReplacer("_", " ", "-", " ").Replace(strings.ToLower(text[1:]))
}

// enumWriter passes values of enumerations to a Writer as words. A name that equals its id is a value of an enumeration
// too: a group of channels has the code of the type as its id and as its name.
type enumWriter struct {
	Writer
	isEnum []bool
	idOf   []int // the index of the id of a column with names, or -1
}

func (w *enumWriter) Begin(columns []Column) error {
	for _, c := range columns {
		stem, isName := strings.CutSuffix(c.Name, "_name")
		id := slices.IndexFunc(columns, func(other Column) bool { return isName && other.Name == stem+"_id" })
		w.isEnum, w.idOf = append(w.isEnum, IsEnum(c)), append(w.idOf, id)
	}
	return w.Writer.Begin(columns)
}

func (w *enumWriter) Row(values []Value) error {
	for i := range values {
		isCode := w.isEnum[i] || w.idOf[i] >= 0 && values[i].Text == values[w.idOf[i]].Text
		if isCode && !values[i].Null {
			values[i].Text = EnumWords(values[i].Text)
		}
	}
	return w.Writer.Row(values)
}

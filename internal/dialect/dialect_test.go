package dialect_test

import (
	"io/fs"
	"strings"
	"testing"

	"placementsync/internal/dialect"
	"placementsync/queries"
	"placementsync/schema"
)

func lakeNames() dialect.LakeNames {
	return dialect.LakeNames{Catalog: "lake", Prefix: "placementsync"}
}

// TestEachFileIsAView checks that each file has the name of a DuckDB view and begins with the title of
// that view.
func TestEachFileIsAView(t *testing.T) {
	titles := map[string]string{}
	for _, v := range schema.MartViews() {
		titles[v.Name+".sql"] = firstLine(v.SQL)
	}
	files, err := fs.ReadDir(queries.Engines, "engines/mart")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		text, err := queries.Engines.ReadFile("engines/mart/" + file.Name())
		if err != nil {
			t.Fatal(err)
		}
		want := titles[file.Name()]
		if want == "" || firstLine(string(text)) != want {
			t.Errorf("%s begins with %q, want %q as in DuckDB", file.Name(), firstLine(string(text)), want)
		}
	}
}

// TestWordsAreExpanded checks that the SQL of an engine contains no template mark, no mark of a
// missing argument, and no word of the other engine.
func TestWordsAreExpanded(t *testing.T) {
	texts := map[string]string{}
	for _, e := range dialect.Engines() {
		views := e.Views(lakeNames())
		for _, v := range views {
			texts[e.Name] += v.Select
		}
		for _, mark := range []string{"{{", "}}", "%!", "%[", "${", "<no value>"} {
			if i := strings.Index(texts[e.Name], mark); i >= 0 {
				t.Errorf("the SQL of %s contains %q: %s", e.Name, mark, texts[e.Name][max(0, i-80):min(len(texts[e.Name]), i+80)])
			}
		}
	}
	// Lists of Spark are counted from 0, and those of Trino from 1. A / of Spark has decimals.
	for engine, words := range map[string][]string{
		"spark": {"l.domain_authority div 10", "get(amounts, CAST(ceil(0.5 * size(amounts)) AS INT) - 1) AS median"},
		"trino": {"l.domain_authority / 10", "element_at(amounts, CAST(ceil(0.5 * cardinality(amounts)) AS INTEGER)) AS median"},
	} {
		for _, word := range words {
			if !strings.Contains(texts[engine], word) {
				t.Errorf("the SQL of %s lacks %q", engine, word)
			}
		}
	}
	for engine, otherWords := range map[string][]string{
		"spark": {"VARCHAR", "array_agg", "cardinality", "ROW(", "UNNEST", "at_timezone", "to_unixtime", "date_trunc"},
		"trino": {"STRING", "collect_list", " size(", "struct(", "explode", "convert_timezone", "unix_micros", " div "},
	} {
		for _, word := range otherWords {
			if strings.Contains(texts[engine], word) {
				t.Errorf("the SQL of %s contains %q, a word of the other engine", engine, word)
			}
		}
	}
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return line
}

// TestNamesAreFilledIn checks that all placeholders are replaced, that a catalog name with quotes is quoted, that
// the schema and each view exist before their comments, and that quotes in comments are escaped.
func TestNamesAreFilledIn(t *testing.T) {
	wants := map[string][]string{
		"spark": {"CREATE SCHEMA IF NOT EXISTS `My``L\"ake`.acme_mart", "FROM `My``L\"ake`.acme_current.article_statuses", `the profile\'s order items`,
			"acme_mart.article_stays (\n    article_id COMMENT 'Id of the article: campaign_articles.id.',\n    position COMMENT "},
		"trino": {"CREATE SCHEMA IF NOT EXISTS \"My`L\"\"ake\".acme_mart", "FROM \"My`L\"\"ake\".acme_current.article_statuses", `the profile''s order items`,
			"acme_mart.article_stays\nCOMMENT 'Stays", "acme_mart.article_stays.article_id IS 'Id of the article: campaign_articles.id.'"},
	}
	for _, e := range dialect.Engines() {
		statements := e.ViewStatements(dialect.LakeNames{Catalog: "My`L\"ake", Prefix: "acme"})
		text := strings.Join(statements, ";\n")
		for _, want := range wants[e.Name] {
			if !strings.Contains(text, want) {
				t.Errorf("%s: %q is not in\n%s", e.Name, want, text)
			}
		}
		if schema := strings.Index(text, "CREATE SCHEMA "); schema != 0 {
			t.Errorf("%s: the schema is created at %d, want it first", e.Name, schema)
		}
		if first, view := strings.Index(text, "COMMENT ON"), strings.Index(text, "CREATE OR REPLACE VIEW"); first >= 0 && first < view {
			t.Errorf("%s: a comment is set before the first view is created", e.Name)
		}
		if hasStatements := strings.Contains(text, "COMMENT ON COLUMN"); hasStatements != (e.Name == "trino") {
			t.Errorf("%s: separate comments of columns: %t, want them only for Trino", e.Name, hasStatements)
		}
		if strings.Contains(text, "${") {
			t.Errorf("%s: a placeholder is left in\n%s", e.Name, text)
		}
	}
	if _, err := dialect.Find("oracle"); err == nil || !strings.Contains(err.Error(), "spark, trino") {
		t.Errorf("unknown engine: got %v, want an error with the known engines", err)
	}
	trino, err := dialect.Find("trino")
	if err != nil {
		t.Fatal(err)
	}
	if got := trino.Namespace(dialect.LakeNames{Prefix: "acme"}, "past"); got != "acme_past" {
		t.Errorf("without a catalog the namespace is %q, want acme_past", got)
	}
}

package faults_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"placementsync/internal/pipeline"
	"placementsync/internal/sim"
	"placementsync/internal/sqltext"
	"placementsync/internal/stream"
	testharness "placementsync/internal/testing/harness"
	"placementsync/internal/testing/trials"
	"placementsync/internal/transform"
	"placementsync/internal/webhook"
	"placementsync/schema"
)

// privateMark is a mark that is added to the strings in responses, to find them in the warehouse.
const privateMark = "s3cret"

// unmarkedFields matches the fields that are not marked. IDs cannot be private. Marked times and
// amounts would be rejected, and meta.rejects would contain the mark.
var unmarkedFields = regexp.MustCompile(`^(id|prefix|type|token_type|scopes|.*_ids?|.*_at|.*_date|date_paid|deadline|unit_amount)$`)

// markStrings replaces the strings of a body by the results of mark, except those in unmarkedFields. withInvalid
// means that each list also gets its first record again, with other private values, and a record without a key.
func markStrings(body []byte, mark func(text string) any, withInvalid bool) []byte {
	d := json.NewDecoder(bytes.NewReader(body))
	d.UseNumber()
	var parsed any
	if d.Decode(&parsed) != nil {
		return body
	}
	parsed = markValue("", parsed, mark)
	invalid := func(list []any) []any {
		if withInvalid && len(list) > 0 {
			list = append(list, markValue("", list[0], mark), map[string]any{"id": nil, "notes": privateMark}, privateMark)
		}
		return list
	}
	switch v := parsed.(type) {
	case []any:
		parsed = invalid(v)
	case map[string]any:
		if list, isList := v["records"].([]any); isList {
			v["records"] = invalid(list)
		}
	}
	marked, err := json.Marshal(parsed)
	if err != nil {
		return body
	}
	return marked
}

func markValue(key string, value any, mark func(text string) any) any {
	switch v := value.(type) {
	case map[string]any:
		for name, inner := range v {
			v[name] = markValue(name, inner, mark)
		}
	case []any:
		for i, inner := range v {
			v[i] = markValue(key, inner, mark)
		}
	case string:
		if !unmarkedFields.MatchString(key) {
			return mark(v)
		}
	}
	return value
}

func markedString(v string) any { return privateMark + " " + v }

// markedOtherType returns a list or object instead of a string. It has the wrong type for the column, so it is
// rejected.
func markedOtherType(v string) any {
	text := markedString(v)
	switch len(v) % 4 {
	case 0:
		return []any{text}
	case 1:
		return map[string]any{"value": text}
	case 2:
		return map[string]any{"name": text, "email": text}
	}
	return []any{map[string]any{"deep": []any{text}}}
}

// excludedStreams returns the streams that TestTrialPrivateValuesAreNowhere leaves out. Most of them
// have a name as key, and a key cannot be private.
func excludedStreams() []string {
	return []string{"tags", "countries", "states", "cities", "product_categories", "token", "campaign_status_counts"}
}

// newPrivateHarness returns a harness with privacy rules. Its nights read the streams for which isRead returns true.
func newPrivateHarness(t *testing.T, p transform.Privacy, isRead func(name string) bool) trials.WebhookHarness {
	t.Helper()
	m := trials.NewWebhookHarness(t, trials.SmallWorld())
	trials.SetStreams(&m.Config, slices.DeleteFunc(m.Config.Streams, func(s stream.Stream) bool { return !isRead(s.Name) }))
	m.Config.Privacy = p
	return m
}

// runMarkedNights runs two nights with the mark in the responses and in webhook events. The responses
// contain the mark in strings in the first night. In the second, they contain it in values of other types and in
// invalid records. Without privacy rules, the schemas main, past and meta then contain the mark.
func runMarkedNights(m trials.WebhookHarness) {
	m.T.Helper()
	for i, mark := range []func(string) any{markedString, markedOtherType} {
		m.Deliver(trials.RawDelivery(fmt.Sprint("c", i), "comment.created", `{"id":"c1","content":{"type":"doc","content":[{"type":"text","text":"s3cret"}]},
			"author":{"name":"s3cret","email":"s3cret@example.com"}}`))
		m.Deliver(trials.RawDelivery(fmt.Sprint("s", i), webhook.StatusChanged, `{"article_id":"a1","status":{"id":"1","prefix":"x","name":"s3cret"}}`))
		m.Deliver(trials.RawDelivery(fmt.Sprint("bad", i), "comment.created", `{"content":"s3cret"}`))
		m.Deliver(trials.RawDelivery(fmt.Sprint("new", i), "comment.moved", `{"content":"s3cret"}`))
		m.Service.SetFaults(sim.Fault{Skip: 1, Kind: sim.FaultRewrite, Rewrite: func(body []byte) []byte { return markStrings(body, mark, i == 1) }})
		m.Service.Advance(1)
		m.At = m.Service.Now().AddDate(0, 0, 1)
		_, err := pipeline.Run(m.T.Context(), m.Config)
		testharness.Must(m.T, err)
	}
}

// markedColumns returns the columns with the mark in a current or closed row, as table.column.
func markedColumns(m trials.WebhookHarness) []string {
	m.T.Helper()
	var columns []string
	for _, table := range m.Config.Warehouse.Tables {
		for _, column := range m.Lines(fmt.Sprintf(`SELECT column_name FROM (UNPIVOT (SELECT max((COLUMNS(*)::VARCHAR LIKE '%%%s%%')::INT) FROM history.%s)
			ON COLUMNS(*) INTO NAME column_name VALUE hit) WHERE hit = 1 ORDER BY 1`, privateMark, sqltext.Quote(table.Name))) {
			columns = append(columns, table.Name+"."+column)
		}
	}
	return columns
}

// TestTrialPrivateValuesAreNowhere runs nights without privacy rules and finds the columns that contain the mark. It then
// makes these columns private and runs the nights again. The published files and the ledger must not contain the mark.
// In one warehouse all columns are dropped, and in another those that can be hashed are hashed. With -short, it reads
// fewer streams into one warehouse, with half of the columns dropped.
func TestTrialPrivateValuesAreNowhere(t *testing.T) {
	t.Parallel()
	minColumns := 100
	isRead := func(name string) bool { return !slices.Contains(excludedStreams(), name) }
	if testing.Short() {
		minColumns = 45
		names := append(trials.FewStreams(), "profiles", "campaigns", "campaign_articles", "articles",
			"article_comments", "article_comment_events", "article_status_events")
		isRead = func(name string) bool { return slices.Contains(names, name) }
	}
	unprotected := newPrivateHarness(t, transform.Privacy{}, isRead)
	runMarkedNights(unprotected)
	columns, places := markedColumns(unprotected), findMark(unprotected)
	if len(columns) < minColumns || !slices.Contains(places, "past.orders") || !slices.Contains(places, "meta.rejects") {
		t.Fatalf("without rules the mark is in %d columns and in %q, want at least %d columns, and past.orders and meta.rejects", len(columns), places, minColumns)
	}
	hashable, dropOnly := splitHashable(t, unprotected.Config.Streams, columns)
	rules := []transform.Privacy{{Drop: columns}, {Hash: hashable, Drop: dropOnly, Key: []byte("key")}}
	if testing.Short() {
		half := len(hashable) / 2
		rules = []transform.Privacy{{Hash: hashable[:half], Drop: slices.Concat(hashable[half:], dropOnly), Key: []byte("key")}}
	}
	for _, p := range rules {
		t.Run(fmt.Sprintf("%d dropped, %d hashed", len(p.Drop), len(p.Hash)), func(t *testing.T) {
			t.Parallel()
			m := newPrivateHarness(t, p, isRead)
			runMarkedNights(m)
			if found := findMark(m); len(found) > 0 {
				t.Errorf("the tables and files %q contain private values, want none", found)
			}
			if m.Count("orders", "true") == 0 || m.Count("meta.rejects", "raw LIKE '%(withheld%'") == 0 {
				t.Error("orders or meta.rejects has no rows, want rows without the private values")
			}
		})
	}
}

// splitHashable returns the columns that can be hashed, and the columns that can only be dropped.
func splitHashable(t *testing.T, streams []stream.Stream, columns []string) (hashable, dropOnly []string) {
	t.Helper()
	defs, _ := schema.Definitions()
	for _, column := range columns {
		isRefused := false
		for _, s := range streams {
			b, err := transform.Compile(s, defs)
			testharness.Must(t, err)
			isRefused = isRefused || b.Protect(transform.Privacy{Hash: []string{column}, Key: []byte("key")}) != nil
		}
		if isRefused {
			dropOnly = append(dropOnly, column)
		} else {
			hashable = append(hashable, column)
		}
	}
	return hashable, dropOnly
}

// findMark returns the tables and files that contain the mark. It searches the values of all tables
// in the catalog and in Parquet files, and the bytes of all files. It leaves out stored responses
// and the inbox, which privacy rules do not change.
func findMark(m trials.WebhookHarness) []string {
	m.T.Helper()
	var places []string
	searchTable := func(place, tableExpr string) {
		if m.QueryOne(fmt.Sprintf("SELECT count(*)::VARCHAR FROM %s t WHERE t::VARCHAR LIKE '%%%s%%'", tableExpr, privateMark)) != "0" {
			places = append(places, place)
		}
	}
	for _, table := range m.Lines(`SELECT schema_name || '.' || table_name FROM duckdb_tables() WHERE NOT internal ORDER BY 1`) {
		schema, name, _ := strings.Cut(table, ".")
		searchTable(table, schema+"."+sqltext.Quote(name))
	}
	testharness.Must(m.T, filepath.WalkDir(m.Path(), func(path string, e fs.DirEntry, err error) error {
		name, _ := filepath.Rel(m.Path(), path)
		if err != nil || !e.Type().IsRegular() || strings.HasPrefix(name, "raw/") || strings.HasPrefix(name, "state/inbox/") {
			return err
		}
		if filepath.Ext(path) == ".parquet" {
			searchTable(name, "read_parquet("+sqltext.Literal(path)+")")
		}
		data, err := os.ReadFile(path)
		if bytes.Contains(data, []byte(privateMark)) {
			places = append(places, name+" (bytes)")
		}
		return err
	}))
	return places
}

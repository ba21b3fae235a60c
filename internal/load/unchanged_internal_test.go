package load

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"placementsync/internal/stream"
	"placementsync/internal/warehouse"
	"placementsync/schema"
)

// TestRecordsOfTheSameHash adds two records whose keys have the same hash. Then no records may be compared, because the
// fingerprint of one record could be compared with the other record.
func TestRecordsOfTheSameHash(t *testing.T) {
	for name, c := range map[string]struct {
		records []storedRecord
		want    bool
	}{
		"no records":    {nil, false},
		"two hashes":    {[]storedRecord{{key: 1}, {key: 2}}, true},
		"the same hash": {[]storedRecord{{key: 1}, {key: 2}, {key: 1}}, false},
	} {
		s := Stored{records: c.records}
		if got := s.fillIndexes(); got != c.want {
			t.Errorf("%s: records can be compared: %v, want %v", name, got, c.want)
		}
	}
}

// TestLastCopyDecides adds copies of one record. All records after the first million of a response have the same seq:
// a changed copy must then not be lost.
func TestLastCopyDecides(t *testing.T) {
	for name, c := range map[string]struct {
		copies      []stream.RecordCopy
		isUnchanged bool
	}{
		"no copy":                     {nil, false},
		"an unchanged copy":           {[]stream.RecordCopy{{Seq: 1, IsUnchanged: true}}, true},
		"the last copy is unchanged":  {[]stream.RecordCopy{{Seq: 2, IsUnchanged: true}, {Seq: 1}}, true},
		"the last copy is changed":    {[]stream.RecordCopy{{Seq: 2}, {Seq: 1, IsUnchanged: true}}, false},
		"two copies of the same seq":  {[]stream.RecordCopy{{Seq: 1, IsUnchanged: true}, {Seq: 1}}, false},
		"a changed copy between them": {[]stream.RecordCopy{{Seq: 3, IsUnchanged: true}, {Seq: 2}, {Seq: 1, IsUnchanged: true}}, true},
	} {
		s := Stored{records: make([]storedRecord, 1)}
		s.AddCopies(c.copies)
		if got := s.records[0].lastCopyIsUnchanged(); got != c.isUnchanged {
			t.Errorf("%s: the stored rows are kept: %v, want %v", name, got, c.isUnchanged)
		}
	}
}

// TestFindStoredRecords looks up records in the order of the table, in another order, and one that is not stored.
func TestFindStoredRecords(t *testing.T) {
	s := Stored{}
	for key := range uint64(40) {
		s.records = append(s.records, storedRecord{key: key + 100, sum: key})
	}
	s.fillIndexes()
	for _, c := range []struct {
		key      uint64
		previous int
		want     int
	}{
		{100, -1, 0}, {139, 38, 39}, // the next record
		{103, 1, 3}, {139, 2, 39}, {100, 39, 0}, // another order
		{999, 5, -1}, {99, -1, -1}, // not stored
	} {
		if got := s.find(c.key, c.previous); got != c.want {
			t.Errorf("record %d after record %d: found %d, want %d", c.key, c.previous, got, c.want)
		}
	}
}

// TestItemsAreMatchedByTheirSecondKey matches items without the first key, such as line items before the payment of
// their order. One item of each list has other values than before.
func TestItemsAreMatchedByTheirSecondKey(t *testing.T) {
	known := func(position int64, content, first, second uint64) item {
		return item{position: position, content: content, keys: [2]uint64{first, second}}
	}
	staged := func(content, second uint64) item { return item{content: content, keys: [2]uint64{0, second}} }
	withFirst := func(it item, first uint64) item {
		it.keys[0] = first
		return it
	}
	for name, c := range map[string]struct {
		list itemList
		want []int64
	}{
		"stored items in another order": {itemList{stored: []item{known(1, 1, 10, 11), known(2, 2, 20, 22)},
			staged: []item{staged(3, 22), staged(4, 11)}}, []int64{2, 1}},
		"an item that was gone": {itemList{stored: []item{known(1, 1, 10, 11)}, past: []item{known(2, 2, 20, 22)},
			staged: []item{staged(1, 11), staged(4, 22)}}, []int64{1, 2}},
		"the first key takes precedence": {itemList{stored: []item{known(1, 1, 10, 11), known(2, 2, 20, 22)},
			staged: []item{withFirst(staged(3, 11), 20), withFirst(staged(4, 22), 10)}}, []int64{2, 1}},
	} {
		if got := c.list.positions(); !slices.Equal(got, c.want) {
			t.Errorf("%s: the positions are %v, want %v", name, got, c.want)
		}
	}
}

// TestStreamsWhoseRecordsCanBeSkipped lists the streams whose unchanged records are not staged. Records of other streams
// are completed by details, or have children of children. It
// also lists the other streams whose tables no other stream fills, which can be filled directly.
func TestStreamsWhoseRecordsCanBeSkipped(t *testing.T) {
	definitions, _ := schema.Definitions()
	s := &Stage{draft: &warehouse.Draft{Schema: &warehouse.Schema{Definitions: definitions}}, streams: stream.AllWithEvents()}
	var got, notSkipped []string
	for _, st := range s.streams {
		if s.canSkip(st) {
			got = append(got, st.Name)
		} else if fillsAlone(s.streams, st) {
			notSkipped = append(notSkipped, st.Name)
		}
	}
	want := []string{"token", "outlet_listings", "product_listings", "order_items", "tags", "disclaimers", "product_categories", "profiles", "files", "folders"}
	if !slices.Equal(got, want) {
		t.Errorf("unchanged records are skipped of %v, want %v", got, want)
	}
	if want := []string{"article_status_events", "article_comment_events"}; !slices.Equal(notSkipped, want) {
		t.Errorf("other streams that fill their tables alone are %v, want %v", notSkipped, want)
	}
	root := stream.Table{Name: "r", Key: []string{"id"}}
	item := func(name, at string, key, parents []string) stream.Table {
		return stream.Table{Name: name, At: at, Key: key, Parents: parents}
	}
	inRecord := []string{"r_id", stream.Position}
	for name, c := range map[string]struct {
		tables []stream.Table
		want   bool
	}{
		"records with items":     {[]stream.Table{root, item("a", "a", inRecord, []string{"r_id"})}, true},
		"a key of two columns":   {[]stream.Table{{Name: "r", Key: []string{"kind", "name"}}}, false},
		"items inside items":     {[]stream.Table{root, item("a", "a", inRecord, []string{"r_id"}), item("b", "a.b", inRecord, []string{"r_id"})}, false},
		"items that are records": {[]stream.Table{root, item("r", "replies", []string{"id"}, []string{"id"})}, false},
		"items with a key":       {[]stream.Table{root, item("a", "a", []string{"id"}, []string{"r_id"})}, false},
		"items with two parents": {[]stream.Table{root, item("a", "a", inRecord, inRecord)}, false},
	} {
		st := stream.Stream{Name: "s", Tables: c.tables}
		s.streams = []stream.Stream{st}
		if got := s.canSkip(st); got != c.want {
			t.Errorf("%s: unchanged records are skipped: %t, want %t", name, got, c.want)
		}
	}
}

// TestCompressionOfTexts chooses the compression by the first values of a column.
func TestCompressionOfTexts(t *testing.T) {
	different := func(n int) []string {
		var texts []string
		for i := range n {
			texts = append(texts, fmt.Sprint(i))
		}
		return texts
	}
	equal := slices.Repeat([]string{"x"}, 981)
	for name, c := range map[string]struct {
		texts []string
		nulls int
		want  string
	}{
		"different texts":           {different(1000), 0, "fsst"},
		"a tenth is repeated":       {append(different(901), slices.Repeat([]string{"x"}, 99)...), 0, "fsst"},
		"more than that":            {append(different(899), slices.Repeat([]string{"x"}, 101)...), 0, ""},
		"a few texts":               {append(different(18), equal...), 1, ""},
		"a few texts, and no NULLs": {append(different(18), append(equal, "x")...), 0, "dictionary"},
		"more texts":                {append(different(19), equal...), 0, ""},
		"mostly NULL":               {different(1000), 9000, "fsst"},
	} {
		texts := array.NewStringBuilder(memory.DefaultAllocator)
		texts.AppendNulls(c.nulls)
		texts.AppendStringValues(c.texts, nil)
		field := arrow.Field{Name: "a", Type: arrow.BinaryTypes.String, Nullable: true}
		batch := array.NewRecordBatch(arrow.NewSchema([]arrow.Field{field}, nil), []arrow.Array{texts.NewArray()}, int64(c.nulls+len(c.texts)))
		if got := chooseCompression(batch)["a"]; got != c.want {
			t.Errorf("%s: the compression is %q, want %q", name, got, c.want)
		}
	}
}

// TestLostRowsAreErrors checks that an INSERT of fewer rows than were sent, and one that ended early, are errors.
func TestLostRowsAreErrors(t *testing.T) {
	if err := checkInserted(4, 5); err == nil || err.Error() != "DuckDB inserted 4 of 5 rows" {
		t.Errorf("got %v, want an error with both numbers", err)
	}
	if err := checkInserted(5, 5); err != nil {
		t.Error(err)
	}
	allocator := memory.NewCheckedAllocator(memory.DefaultAllocator)
	batch, _, err := array.RecordFromJSON(allocator, arrow.NewSchema([]arrow.Field{{Name: "a", Type: arrow.PrimitiveTypes.Int64}}, nil),
		strings.NewReader(`[{"a":1},{"a":2}]`))
	if err != nil {
		t.Fatal(err)
	}
	ended := &feed{batches: make(chan arrow.RecordBatch), insertEnded: make(chan struct{}), err: errors.New("no space left")}
	close(ended.insertEnded)
	if err := ended.send(t.Context(), []arrow.RecordBatch{batch}); err == nil || !strings.Contains(err.Error(), "no space left") {
		t.Errorf("after the end of the INSERT: got %v, want its error", err)
	}
	if err := ended.wait(); err == nil || err.Error() != "no space left" {
		t.Errorf("got %v, want the error of the INSERT", err)
	}
	ended.err, ended.inserted = nil, 1
	if err := ended.wait(); err == nil || err.Error() != "DuckDB inserted 1 of 2 rows" {
		t.Errorf("got %v, want the number of lost rows", err)
	}
	stopped, stop := context.WithCancelCause(t.Context())
	cause := errors.New("stopped")
	stop(cause)
	waiting := &feed{batches: make(chan arrow.RecordBatch), insertEnded: make(chan struct{})}
	if err := waiting.send(stopped, []arrow.RecordBatch{batch}); !errors.Is(err, cause) {
		t.Errorf("after a stop: got %v, want its cause", err)
	}
	batch.Release()
	if n := allocator.CurrentAlloc(); n > 0 {
		t.Errorf("%d bytes of the lost rows are still in memory", n)
	}
	ins := &inserter{firstErr: cause}
	isCalled := false
	if err := ins.inOpenTransaction(t.Context(), func() error { isCalled = true; return nil }); err != cause || isCalled {
		t.Errorf("after a failed batch: got %v, wrote %t, want the first error and no further rows", err, isCalled)
	}
	if err := ins.commit(t.Context()); err != cause {
		t.Errorf("the commit after a failed batch returned %v, want the first error", err)
	}
	ins = &inserter{hasTransaction: true}
	if err := ins.inOpenTransaction(t.Context(), func() error { return cause }); err != cause || ins.firstErr != cause {
		t.Errorf("a batch failed with %v, and the commit would return %v, want %v: the rows of the batch are lost", err, ins.firstErr, cause)
	}
}

// TestURLColumns lists columns whose values may contain a signature.
func TestURLColumns(t *testing.T) {
	for name, want := range map[string]bool{"url": true, "live_url": true, "file_url": true, "logo": true, "team_logo": true, "curl": false, "url_count": false} {
		if isURLColumn(stream.Column{Name: name, Type: stream.Text}) != want || isURLColumn(stream.Column{Name: name, Type: stream.JSON}) {
			t.Errorf("the text column %s contains URLs: %t, want %t; JSON columns follow another rule", name, !want, want)
		}
	}
}

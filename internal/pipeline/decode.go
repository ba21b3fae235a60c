package pipeline

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/apache/arrow-go/v18/arrow"

	"placementsync/internal/fetch"
	"placementsync/internal/load"
	"placementsync/internal/stream"
	"placementsync/internal/transform"
)

// batchRows is the default of Config.BatchRows. Batches of 4,000 to 20,000 rows load fastest. If batches
// are almost as large as a row group, DuckDB rewrites row groups.
const batchRows = 8_192

// batchBytes is the size of the decoded bodies after which a decoder stages its rows, even if they are
// fewer than batchRows. Records can be large, and decoded rows are in memory.
const batchBytes = 32 << 20

// errStage marks errors of the warehouse while a stream is read. They end the night.
var errStage = errors.New("stage rows")

func markStageErr(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%w: %w", errStage, err)
}

// sink decodes the bodies of one stream and stages their rows. It has one decoder per processor.
type sink struct {
	reading   *reading
	stream    stream.Stream
	free      chan *decoder // the free decoders
	decoders  []*decoder    // all decoders
	isPrivate bool          // the table has private columns
	records   atomic.Int64  // the number of decoded records
	rejects   atomic.Int64  // invalid values and records
	mu        sync.Mutex    // guards the fields below
	// read and rejected count the records of all passes, and those among them that were rejected as a whole.
	read, rejected int
	// stagingErr joins the errors of rows that could not be staged.
	stagingErr error
}

type decoder struct {
	*transform.Decoder
	unstagedBytes int // of the bodies whose rows are not staged yet
}

// openSink opens the sink of a stream that is read now.
func (d *reading) openSink(ctx context.Context, s stream.Stream) (*sink, error) {
	d.cfg.Progress.setReading(s)
	defs := stream.WithOtherNames(d.wh.Schema.Definitions, d.cfg.OtherNames)
	binding, err := transform.Bind(s, defs, d.cfg.Privacy)
	if err != nil {
		return nil, err
	}
	if d.cfg.MinorUnits {
		binding.ReadMinorUnits()
	}
	stored, err := d.stage.StoredRecords(ctx, s)
	if err != nil {
		return nil, markStageErr(err)
	}
	k := &sink{reading: d, stream: s, isPrivate: len(binding.PrivateColumns()) > 0, free: make(chan *decoder, runtime.GOMAXPROCS(0))}
	for range cap(k.free) {
		one := &decoder{Decoder: binding.NewDecoder()}
		one.UnifyIDs(&d.idCase)
		if stored != nil {
			one.SkipUnchanged(stored)
		}
		k.decoders = append(k.decoders, one)
		k.free <- one
	}
	return k, nil
}

// readResponse is the fetch.Reader of the stream. A malformed body gives no rows, and is requested again.
func (k *sink) readResponse(ctx context.Context, r fetch.Response) (stream.PageFacts, error) {
	if r.Previous != nil {
		k.countRecords(*r.Previous)
		k.reading.cfg.Progress.countResponse(r, *r.Previous)
		return *r.Previous, nil
	}
	facts, err := k.decodeBody(ctx, r)
	if errors.Is(err, transform.ErrMalformed) {
		return stream.PageFacts{}, fmt.Errorf("%w: %w", fetch.ErrMalformed, err)
	}
	if err == nil {
		k.countRecords(facts)
		k.reading.cfg.Progress.countResponse(r, facts)
	}
	return facts, err
}

func (k *sink) countRecords(facts stream.PageFacts) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.read += facts.Records
	k.rejected += facts.RecordsWithoutID()
}

// rejectionErr returns an error if more than half of the records were rejected. The stream was then not read, although
// the service answered.
func (k *sink) rejectionErr() error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.rejected*2 <= k.read {
		return nil
	}
	return fmt.Errorf("%d %% of the records were rejected (meta.rejects); rows of earlier nights are kept", 100*k.rejected/k.read)
}

// decodeBody decodes a body. If a decoder has many rows, or no space for the rows of the body, decodeBody
// stages its rows.
func (k *sink) decodeBody(ctx context.Context, r fetch.Response) (stream.PageFacts, error) {
	var d *decoder
	select {
	case d = <-k.free:
	case <-ctx.Done():
		return stream.PageFacts{}, context.Cause(ctx)
	}
	defer func() { k.free <- d }()
	origin := transform.Origin{Seq: r.Seq, Param: r.Param, Pass: r.Pass, Page: r.Page, Team: k.reading.cfg.TeamID}
	facts, err := d.Decode(r.Body, origin)
	if errors.Is(err, transform.ErrFull) {
		if err := k.flushDecoders(ctx, d); err != nil {
			return stream.PageFacts{}, err
		}
		facts, err = d.Decode(r.Body, origin)
	}
	if err != nil {
		return stream.PageFacts{}, err
	}
	k.records.Add(int64(facts.Records))
	facts.IDs = slices.Clone(facts.IDs) // the decoder reuses the slice
	d.unstagedBytes += len(r.Body)
	if d.Rows() >= cmp.Or(k.reading.cfg.BatchRows, batchRows) || d.unstagedBytes >= batchBytes {
		err = k.flushDecoders(ctx, d)
	}
	return facts, err
}

// flushDecoders continues if ctx ends, because a decoder can contain rows of several requests. An error
// is also kept for finish, because a stream that has already failed would not report it.
func (k *sink) flushDecoders(ctx context.Context, decoders ...*decoder) error {
	err := markStageErr(k.stageRows(context.WithoutCancel(ctx), decoders))
	if err != nil {
		k.mu.Lock()
		k.stagingErr = errors.Join(k.stagingErr, err)
		k.mu.Unlock()
	}
	return err
}

// stageRows stages the rows table by table. For a small stream this is mostly one statement per table.
func (k *sink) stageRows(ctx context.Context, decoders []*decoder) error {
	var err error
	var tables []string
	rows := map[string][]arrow.RecordBatch{}
	for _, d := range decoders {
		d.unstagedBytes = 0
		findings := d.Findings()
		k.rejects.Add(int64(len(findings.Rejects)))
		if err == nil {
			err = k.reading.stage.AddDriftRecords(ctx, k.reading.drift.addFindings(findings))
		}
		if err == nil {
			err = k.reading.stage.AddRejects(ctx, findings.Rejects)
		}
		for _, b := range d.Flush() {
			if rows[b.Table] == nil {
				tables = append(tables, b.Table)
			}
			rows[b.Table] = append(rows[b.Table], b.Rows)
		}
	}
	for _, t := range tables {
		if err != nil {
			load.ReleaseBatches(rows[t])
			continue
		}
		err = k.reading.stage.AddRows(ctx, k.stream.Name, t, rows[t]...)
	}
	return err
}

// maxDrifts limits the number of different drifts of a night. Otherwise a service that uses ids
// as field names could fill the memory.
const maxDrifts = 20_000

type driftCollector struct {
	mu          sync.Mutex
	indexOf     map[driftKey]int // an index into drifts and firstPlaces
	drifts      []stream.Drift
	firstPlaces []transform.Place // of the first record of each drift
}

type driftKey struct{ table, path, kind string }

func newDriftCollector() *driftCollector { return &driftCollector{indexOf: map[driftKey]int{}} }

func (c *driftCollector) addFindings(findings transform.Findings) []stream.DriftRecord {
	c.mu.Lock()
	defer c.mu.Unlock()
	indexes := make([]int, len(findings.Drift))
	for i, d := range findings.Drift {
		indexes[i] = c.addDrift(d)
	}
	for i := range findings.DriftRecords {
		findings.DriftRecords[i].DriftIndex = indexes[findings.DriftRecords[i].DriftIndex]
	}
	return findings.DriftRecords
}

// addDrift returns the index of a drift. If there are maxDrifts, all further paths of a table and kind share the
// path "…".
func (c *driftCollector) addDrift(d transform.Drift) int {
	key := driftKey{d.Table, d.Path, d.Kind}
	i, ok := c.indexOf[key]
	if !ok && len(c.indexOf) >= maxDrifts {
		key.path = "…"
		i, ok = c.indexOf[key]
	}
	if !ok {
		i = len(c.drifts)
		c.indexOf[key] = i
		c.drifts = append(c.drifts, stream.Drift{})
		c.firstPlaces = append(c.firstPlaces, d.First)
	}
	if !ok || d.First.Before(c.firstPlaces[i]) {
		c.firstPlaces[i] = d.First
		c.drifts[i] = d.Drift
		c.drifts[i].Path = key.path
	}
	return i
}

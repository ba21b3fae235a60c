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

// batchRows is when a decoder hands its rows on, unless the configuration says
// otherwise. Batches between 4,000 and 20,000 rows load best; near DuckDB's row
// group size they make it rewrite.
const batchRows = 8_192

// batchBytes is when it does so earlier, since what was decoded of so many bytes
// lies in memory: records can be large.
const batchBytes = 32 << 20

// errStage marks errors of the warehouse while a stream is read: they end the
// night, since no other stream could be loaded either.
var errStage = errors.New("stage rows")

// stageErr marks an error of the warehouse; nil stays nil.
func stageErr(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%w: %w", errStage, err)
}

// sink decodes the bodies of one stream and stages their rows. Its decoders
// are as many as can run at once; a body waits for a free one.
type sink struct {
	night    *night
	stream   stream.Stream
	decoders chan *decoder
	all      []*decoder
	count    atomic.Int64
	rejects  atomic.Int64
	mu       sync.Mutex // guards broken
	broken   error
	binding  *transform.Binding
	recalled sync.Once
	recall   recall
}

// decoder knows how many bytes of bodies it holds the rows of.
type decoder struct {
	*transform.Decoder
	held int
}

func (n *night) newSink(s stream.Stream) (*sink, error) {
	b, err := transform.Compile(s, n.wh.Catalog.Definitions())
	if err != nil {
		return nil, err
	}
	if err := b.Protect(n.privacyOf(s)); err != nil {
		return nil, err
	}
	k := &sink{night: n, stream: s, binding: b, decoders: make(chan *decoder, runtime.GOMAXPROCS(0))}
	for range cap(k.decoders) {
		d := &decoder{Decoder: b.NewDecoder()}
		k.all = append(k.all, d)
		k.decoders <- d
	}
	return k, nil
}

// readBody is the fetch.Reader of the stream: it says what a body holds, after its
// rows are decoded. A body that is no answer leaves no row and is asked for again.
func (k *sink) readBody(ctx context.Context, r fetch.Response) (stream.PageFacts, error) {
	if r.Previous != nil {
		k.night.cfg.Watch.countAnswer(r, *r.Previous)
		return *r.Previous, nil
	}
	k.recalled.Do(k.recallRecords)
	var d *decoder
	select {
	case d = <-k.decoders:
	case <-ctx.Done():
		return stream.PageFacts{}, context.Cause(ctx)
	}
	defer func() { k.decoders <- d }()
	if err := k.night.faultPoint("answer landed"); err != nil {
		return stream.PageFacts{}, stageErr(err)
	}
	page, err := k.decodeBody(ctx, d, r)
	if errors.Is(err, transform.ErrMalformed) {
		return stream.PageFacts{}, fmt.Errorf("%w: %w", fetch.ErrMalformed, err)
	}
	if err != nil {
		return stream.PageFacts{}, err
	}
	k.count.Add(int64(page.Records))
	page.IDs = slices.Clone(page.IDs) // the decoder uses them again
	k.night.cfg.Watch.countAnswer(r, page)
	if d.held += len(r.Body); d.Rows() < cmp.Or(k.night.cfg.BatchRows, batchRows) && d.held < batchBytes {
		return page, nil
	}
	return page, k.flushDecoders(ctx, d)
}

// decodeBody decodes a body. It flushes first when the rows that the decoder holds
// leave too little room.
func (k *sink) decodeBody(ctx context.Context, d *decoder, r fetch.Response) (stream.PageFacts, error) {
	origin := transform.Origin{Seq: r.Seq, Param: r.Param, Pass: r.Pass, Page: r.Page}
	page, err := d.Decode(r.Body, origin)
	if !errors.Is(err, transform.ErrFull) {
		return page, err
	}
	if err := k.flushDecoders(ctx, d); err != nil {
		return page, err
	}
	return d.Decode(r.Body, origin)
}

// flushDecoders stages what decoders hold. They hold rows of other bodies than the one
// that filled them, so that the end of one walk must not cut it short; and an
// error of the stage is kept for flushAll, since a walk that has failed already
// would not report it.
func (k *sink) flushDecoders(ctx context.Context, decoders ...*decoder) error {
	err := stageErr(k.stageRows(context.WithoutCancel(ctx), decoders))
	if err != nil {
		k.mu.Lock()
		k.broken = errors.Join(k.broken, err)
		k.mu.Unlock()
	}
	return err
}

// stageRows hands over the rows of decoders table by table: what remains at the end
// of a small stream is mostly one statement a table.
func (k *sink) stageRows(ctx context.Context, decoders []*decoder) error {
	err := k.night.waitOpened(ctx)
	if err == nil {
		err = k.leaveOutRecords()
	}
	var tables []string
	rows := map[string][]arrow.RecordBatch{}
	for _, d := range decoders {
		d.held = 0
		if err == nil {
			err = k.stageFindings(ctx, d.Findings())
		}
		k.recall.add(d.Entries())
		for _, b := range d.Flush() {
			if rows[b.Table] == nil {
				tables = append(tables, b.Table)
			}
			rows[b.Table] = append(rows[b.Table], b.Record)
		}
	}
	for _, t := range tables {
		if err != nil {
			load.ReleaseBatches(rows[t])
			continue
		}
		if err = k.night.stage.Rows.Add(ctx, k.stream.Name, t, rows[t]...); err == nil {
			err = k.night.faultPoint("mid stage")
		}
	}
	return err
}

// flushAll stages what all decoders hold, unless staging has failed before.
func (k *sink) flushAll(ctx context.Context) error {
	if k.broken != nil {
		return k.broken
	}
	return k.flushDecoders(ctx, k.all...)
}

// stageFindings adds what a decoder found to the drift of the night and stages the
// rejects.
func (k *sink) stageFindings(ctx context.Context, d transform.Findings) error {
	k.rejects.Add(int64(len(d.Rejects)))
	if err := k.night.stage.Findings.AddDriftCarriers(ctx, k.night.drift.addFindings(d)); err != nil {
		return err
	}
	return k.night.stage.Findings.AddRejects(ctx, d.Rejects)
}

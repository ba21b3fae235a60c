package main

import (
	"fmt"
	"io"
	"log/slog"
	"sync"
	"time"

	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"

	"placementsync/internal/ledger"
	"placementsync/internal/pipeline"
)

// How often progress is shown: on a terminal, and in a log.
const (
	redraw    = 200 * time.Millisecond
	logsEvery = time.Minute
)

// followNight shows the progress of the watched night until stop is called: as bars
// on a terminal, else as a log line a minute. The night logs to log.
func (g *globals) followNight(watch *pipeline.Watch) (log *slog.Logger, stop func()) {
	if g.stderrWidth == 0 || g.Quiet {
		log = g.newLogger()
		return log, callEvery(logsEvery, func() { logProgress(log, watch) })
	}
	b := newBars(g.stderr, g.stderrWidth)
	stopDrawing := callEvery(redraw, func() { b.drawProgress(watch) })
	return g.NewLoggerOf(slog.LevelWarn, b), func() {
		stopDrawing()
		b.close()
	}
}

// callEvery calls do again and again until stop, which waits for a call in progress.
func callEvery(pause time.Duration, do func()) (stop func()) {
	ticker, quit := time.NewTicker(pause), make(chan struct{})
	var running sync.WaitGroup
	running.Go(func() {
		for {
			select {
			case <-ticker.C:
				do()
			case <-quit:
				return
			}
		}
	})
	return sync.OnceFunc(func() {
		ticker.Stop()
		close(quit)
		running.Wait()
	})
}

func logProgress(log *slog.Logger, watch *pipeline.Watch) {
	p, ok := watch.Progress()
	if !ok {
		return
	}
	one, read := currentStream(p)
	log.Info("progress", "run", p.Run, "phase", p.Phase, "stream", one.Name, "done", one.Done, "total", one.Total, "rows", one.Rows,
		"streams_read", read, "streams", len(p.Streams), "requests", p.Requests, "retries", p.Retries,
		"requests_per_second", p.PerSecond, "allowed_per_second", p.Allowed, "time_left", p.Left)
}

// currentStream is the stream that is read, and how many have been.
func currentStream(p ledger.Progress) (one ledger.StreamProgress, read int) {
	for _, s := range p.Streams {
		switch s.State {
		case ledger.Read:
			read++
		case ledger.Reading:
			one = s
		}
	}
	return one, read
}

// bars are two lines at the bottom of a terminal, the current stream and the total,
// below one line for each stream that has been read.
type bars struct {
	out           io.Writer
	progress      *mpb.Progress
	stream, total *mpb.Bar

	mu      sync.Mutex // guards what follows
	now     ledger.Progress
	ended   bool
	printed map[string]bool
}

func newBars(out io.Writer, width int) *bars {
	const widest = 120 // more makes long bars, and tells no more
	b := &bars{out: out, printed: map[string]bool{}}
	b.progress = mpb.New(mpb.WithOutput(out), mpb.WithWidth(min(width, widest)), mpb.WithAutoRefresh(), mpb.WithRefreshRate(redraw))
	style := mpb.BarStyle().Lbound("[").Filler("=").Tip(">").Padding(" ").Rbound("]")
	line := func(name, facts func() string) *mpb.Bar {
		return b.progress.New(0, style,
			mpb.PrependDecorators(decor.Any(func(decor.Statistics) string { return name() }, decor.WC{W: 24, C: decor.DindentRight})),
			mpb.AppendDecorators(decor.Any(func(decor.Statistics) string { return " " + facts() })))
	}
	b.stream = line(b.streamName, b.streamFacts)
	b.total = line(func() string { return "total" }, b.totalFacts)
	return b
}

// drawProgress updates the bars.
func (b *bars) drawProgress(watch *pipeline.Watch) {
	p, ok := watch.Progress()
	if !ok {
		return
	}
	b.mu.Lock()
	b.now = p
	b.mu.Unlock()
	one, read := currentStream(p)
	b.stream.SetTotal(max(one.Total, one.Done+1), false)
	b.stream.SetCurrent(one.Done)
	if p.Expected > 0 {
		b.total.SetTotal(p.Expected+1, false)
		b.total.SetCurrent(p.Requests)
	} else {
		b.total.SetTotal(int64(len(p.Streams))+1, false)
		b.total.SetCurrent(int64(read))
	}
	for _, s := range p.Streams {
		if s.State == ledger.Read && !b.printed[s.Name] {
			b.printed[s.Name] = true
			_, _ = fmt.Fprintf(b, "%-24s %-15s %9d rows %7d requests %s\n", s.Name, s.Grade, s.Rows, s.Requests, retriesText(s.Retries))
		}
	}
}

func (b *bars) lastProgress() ledger.Progress {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.now
}

func (b *bars) streamName() string {
	p := b.lastProgress()
	if one, _ := currentStream(p); one.Name != "" {
		return one.Name
	}
	return p.Phase
}

func (b *bars) streamFacts() string {
	one, _ := currentStream(b.lastProgress())
	if one.Name == "" {
		return ""
	}
	of := ""
	if one.Total > 0 {
		of = fmt.Sprintf("/%d", one.Total)
	}
	return fmt.Sprintf("%d%s, %d rows%s%s", one.Done, of, one.Rows, retriesText(one.Retries), timeLeft(one.Left))
}

func (b *bars) totalFacts() string {
	p := b.lastProgress()
	_, read := currentStream(p)
	of, allowed := "", ""
	if p.Expected > 0 {
		of = fmt.Sprintf("/%d", p.Expected)
	}
	if p.Allowed > 0 {
		allowed = fmt.Sprintf("/%g", p.Allowed)
	}
	return fmt.Sprintf("%d/%d streams, %d%s requests, %.1f%s a second%s%s", read, len(p.Streams), p.Requests, of,
		p.PerSecond, allowed, retriesText(p.Retries), timeLeft(p.Left))
}

func retriesText(n int64) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf(", %d retries", n)
}

func timeLeft(d time.Duration) string {
	if d == 0 {
		return ""
	}
	return fmt.Sprintf(", %s left", d.Round(time.Second))
}

// Write puts lines above the bars, and after their end where they were.
func (b *bars) Write(text []byte) (int, error) {
	b.mu.Lock()
	ended := b.ended
	b.mu.Unlock()
	if ended {
		return b.out.Write(text)
	}
	return b.progress.Write(text)
}

// close removes the bars.
func (b *bars) close() {
	b.mu.Lock()
	b.ended = true
	b.mu.Unlock()
	b.stream.Abort(true)
	b.total.Abort(true)
	b.progress.Wait()
}

package main

import (
	"fmt"
	"io"
	"log/slog"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"

	"placementsync/internal/ledger"
	"placementsync/internal/pipeline"
	"placementsync/internal/plural"
)

// redraw is how often progress is shown on a terminal.
const redraw = 200 * time.Millisecond

// progressPause is how often progress is logged: most nights are over before.
func (g *globals) progressPause() time.Duration {
	if g.Verbose {
		return time.Minute
	}
	return 15 * time.Minute
}

// showsBars reports whether a night is shown on a terminal while it runs.
func (g *globals) showsBars() bool { return g.stderrWidth > 0 && !g.Quiet && !g.Verbose }

// followNight shows the progress of the watched night until stop is called: as bars
// on a terminal, else as a line of the log from time to time. The night logs to log.
func (g *globals) followNight(watch *pipeline.Watch) (log *slog.Logger, stop func()) {
	if !g.showsBars() {
		log = g.newLogger()
		return log, callEvery(g.progressPause(), func() { logProgress(log, watch) })
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
	width         int
	progress      *mpb.Progress
	stream, total *mpb.Bar

	mu      sync.Mutex // guards what follows
	now     ledger.Progress
	ended   bool
	printed map[string]bool
}

func newBars(out io.Writer, width int) *bars {
	const widest = 120 // more makes long bars, and tells no more
	b := &bars{out: out, width: min(width, widest), printed: map[string]bool{}}
	b.progress = mpb.New(mpb.WithOutput(out), mpb.WithWidth(b.width), mpb.WithAutoRefresh(), mpb.WithRefreshRate(redraw))
	style := mpb.BarStyle().Lbound("[").Filler("=").Tip(">").Padding(" ").Rbound("]")
	line := func(name, facts func() string) *mpb.Bar {
		return b.progress.New(0, style,
			mpb.PrependDecorators(decor.Any(func(decor.Statistics) string { return name() }, decor.WC{W: nameWidth, C: decor.DindentRight})),
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
			_, _ = fmt.Fprintln(b, b.describeStream(s))
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
	return b.joinFacts(outOf(one.Done, one.Total), plural.Count(one.Rows, "row"), timeLeft(one.Left), retriesText(one.Retries))
}

func (b *bars) totalFacts() string {
	p := b.lastProgress()
	_, read := currentStream(p)
	rate := fmt.Sprintf("%.1f a second", p.PerSecond)
	if p.Allowed > 0 {
		rate = fmt.Sprintf("%.1f/%g a second", p.PerSecond, p.Allowed)
	}
	requests := outOf(p.Requests, p.Expected) + " " + plural.Noun(max(p.Requests, p.Expected), "request")
	return b.joinFacts(fmt.Sprintf("%d/%d streams", read, len(p.Streams)), requests, timeLeft(p.Left), rate, retriesText(p.Retries))
}

// Columns of a line of progress: the name of a stream, and the least of a bar.
const (
	nameWidth = 24
	barWidth  = 12
)

// joinFacts joins what is known, most wanted first, as far as it fits beside name and bar.
func (b *bars) joinFacts(facts ...string) string {
	return joinFitting(b.width-nameWidth-barWidth-1, ", ", facts)
}

func joinFitting(width int, between string, facts []string) string {
	text := ""
	for _, fact := range facts {
		if text != "" && fact != "" {
			fact = between + fact
		}
		if len(text)+len(fact) > width {
			break
		}
		text += fact
	}
	return text
}

// describeStream is the line of a stream that has been read.
func (b *bars) describeStream(s ledger.StreamProgress) string {
	return joinFitting(b.width, "", []string{fmt.Sprintf("%-*s%-10s", nameWidth, s.Name, ledger.StandingOf(s.Grade)),
		fmt.Sprintf("%15s", plural.Count(s.Rows, "row")), fmt.Sprintf("%18s", plural.Count(s.Requests, "request")),
		strings.TrimSuffix(", "+retriesText(s.Retries), ", ")})
}

// outOf is a number of a total; 0: of one that is not known.
func outOf(n, total int64) string {
	if total == 0 {
		return strconv.FormatInt(n, 10)
	}
	return fmt.Sprintf("%d/%d", n, total)
}

func retriesText(n int64) string {
	if n == 0 {
		return ""
	}
	return plural.Count(n, "retry")
}

func timeLeft(d time.Duration) string {
	if d == 0 {
		return ""
	}
	return d.Round(time.Second).String() + " left"
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

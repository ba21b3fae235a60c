package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"

	"placementsync/internal/humanize"
	"placementsync/internal/ledger"
	"placementsync/internal/pipeline"
)

const (
	redrawInterval = 200 * time.Millisecond
	waitInterval   = time.Minute // between two log lines about a wait for the service
)

// progressInterval returns the time between two log lines about progress. Most nights are shorter
// than 15 minutes, so their log has no such line. Somebody waits for the first night.
func (g *globals) progressInterval(isFirst bool) time.Duration {
	if g.Verbose || isFirst {
		return time.Minute
	}
	return 15 * time.Minute
}

func (g *globals) showsBars() bool { return g.stderrWidth > 0 && !g.Quiet && !g.Verbose }

// showProgress shows the progress of a night until stop is called: as bars on a terminal,
// otherwise as lines of the log. The night must log to the returned log.
func (g *globals) showProgress(tracker *pipeline.ProgressTracker, isFirst bool) (log *slog.Logger, stop func()) {
	if !g.showsBars() {
		log = g.newLogger()
		stopProgress := callEvery(g.progressInterval(isFirst), func() { logProgress(log, tracker) })
		stopWaits := logWaits(log, tracker)
		return log, func() {
			stopProgress()
			stopWaits()
		}
	}
	b := newBars(g.stderr, g.stderrWidth)
	log = g.NewLoggerAt(slog.LevelWarn, b)
	stopDrawing := callEvery(redrawInterval, func() { b.drawProgress(tracker) })
	stopWaits := logWaits(log, tracker)
	return log, func() {
		stopDrawing()
		stopWaits()
		b.close()
	}
}

// A wait of at least longWait is logged as a warning, so that --quiet shows it.
const longWait = 10 * time.Minute

// logWaits logs once a minute why a night waits, until stop is called.
func logWaits(log *slog.Logger, tracker *pipeline.ProgressTracker) (stop func()) {
	return callEvery(waitInterval, func() {
		if p, ok := tracker.Progress(); ok {
			logWait(log, p)
		}
	})
}

// logWait logs nothing if the service answers.
func logWait(log *slog.Logger, p ledger.Progress) {
	if p.WaitingFor == "" {
		return
	}
	level, waited := slog.LevelInfo, time.Since(p.WaitingSince)
	if waited >= longWait {
		level = slog.LevelWarn
	}
	log.Log(context.Background(), level, "still waiting for the service", "run", p.Run, "reason", p.WaitingFor, "until", p.WaitingUntil.Round(time.Second), "took", waited)
}

// callEvery calls f at an interval until stop is called. stop waits for a running call of f.
func callEvery(interval time.Duration, f func()) (stop func()) {
	ticker, quit := time.NewTicker(interval), make(chan struct{})
	var running sync.WaitGroup
	running.Go(func() {
		for {
			select {
			case <-ticker.C:
				f()
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

func logProgress(log *slog.Logger, tracker *pipeline.ProgressTracker) {
	p, ok := tracker.Progress()
	if !ok {
		return
	}
	current, streamsRead := currentStream(p)
	facts := []any{"run", p.Run, "phase", p.Phase, "stream", current.Name, "done", current.Done, "total", current.Total, "rows", current.Rows,
		"streams_read", streamsRead, "streams", len(p.Streams), "requests", p.Requests, "retries", p.Retries,
		"requests_per_second", math.Round(p.PerSecond*10) / 10, "allowed_per_second", p.AllowedPerSecond}
	if left := p.Left.Round(time.Second); left > 0 { // otherwise it is unknown or almost over
		facts = append(facts, "time_left", left)
	}
	log.Info("progress", facts...)
}

func currentStream(p ledger.Progress) (current ledger.StreamProgress, streamsRead int) {
	for _, s := range p.Streams {
		switch s.State {
		case ledger.Read:
			streamsRead++
		case ledger.Reading:
			current = s
		}
	}
	return current, streamsRead
}

// bars are two lines at the bottom of a terminal, for the current stream and the total. Each
// stream that has been read has a line above them.
type bars struct {
	out           io.Writer
	width         int
	progress      *mpb.Progress
	stream, total *mpb.Bar

	// latest is the newest progress. mpb reads it in goroutines of its own.
	latest atomic.Value
	ended  atomic.Bool
	// printed are the streams with a line above the bars.
	printed map[string]bool
}

const maxBarWidth = 120 // wider bars show no more information

func newBarArea(out io.Writer, width int) *mpb.Progress {
	return mpb.New(mpb.WithOutput(out), mpb.WithWidth(min(width, maxBarWidth)), mpb.WithAutoRefresh(), mpb.WithRefreshRate(redrawInterval))
}

func barStyle() mpb.BarStyleComposer {
	return mpb.BarStyle().Lbound("[").Filler("=").Tip(">").Padding(" ").Rbound("]")
}

func newBars(out io.Writer, width int) *bars {
	b := &bars{out: out, width: min(width, maxBarWidth), printed: map[string]bool{}}
	b.progress = newBarArea(out, width)
	newBar := func(name, facts func() string) *mpb.Bar {
		return b.progress.New(0, barStyle(),
			mpb.PrependDecorators(decor.Any(func(decor.Statistics) string { return name() }, decor.WC{W: nameWidth, C: decor.DindentRight})),
			mpb.AppendDecorators(decor.Any(func(decor.Statistics) string { return " " + facts() })))
	}
	b.stream = newBar(b.streamName, b.streamFacts)
	b.total = newBar(func() string { return "total" }, b.totalFacts)
	return b
}

func (b *bars) drawProgress(tracker *pipeline.ProgressTracker) {
	p, ok := tracker.Progress()
	if !ok {
		return
	}
	b.latest.Store(p)
	current, streamsRead := currentStream(p)
	// A full bar looks as if the work had ended. So each total is greater than the work that is known to exist.
	b.stream.SetTotal(max(current.Total, current.Done+1), false)
	b.stream.SetCurrent(current.Done)
	if p.Expected > 0 {
		b.total.SetTotal(p.Expected+1, false)
		b.total.SetCurrent(p.Requests)
	} else {
		b.total.SetTotal(int64(len(p.Streams))+1, false)
		b.total.SetCurrent(int64(streamsRead))
	}
	for _, s := range p.Streams {
		if s.State == ledger.Read && !b.printed[s.Name] {
			b.printed[s.Name] = true
			_, _ = fmt.Fprintln(b, b.describeStream(s))
		}
	}
}

func (b *bars) latestProgress() ledger.Progress {
	p, _ := b.latest.Load().(ledger.Progress)
	return p
}

func (b *bars) streamName() string {
	p := b.latestProgress()
	if current, _ := currentStream(p); current.Name != "" {
		return current.Name
	}
	return p.Phase
}

func (b *bars) streamFacts() string {
	p := b.latestProgress()
	if wait := p.DescribeWait(); wait != "" {
		return b.joinFacts(wait)
	}
	current, _ := currentStream(p)
	if current.Name == "" {
		return ""
	}
	return b.joinFacts(outOf(current.Done, current.Total), humanize.Count(current.Rows, "row"), timeLeft(current.Left), retriesText(current.Retries))
}

func (b *bars) totalFacts() string {
	p := b.latestProgress()
	_, streamsRead := currentStream(p)
	rate := fmt.Sprintf("%.1f a second", p.PerSecond)
	if p.AllowedPerSecond > 0 {
		rate = fmt.Sprintf("%.1f/%g a second", p.PerSecond, p.AllowedPerSecond)
	}
	requests := outOf(p.Requests, p.Expected) + " " + humanize.Noun(max(p.Requests, p.Expected), "request")
	return b.joinFacts(fmt.Sprintf("%d/%d streams", streamsRead, len(p.Streams)), requests, timeLeft(p.Left), rate, retriesText(p.Retries))
}

// Widths of the parts of a progress line. barWidth is a minimum.
const (
	nameWidth = 24
	barWidth  = 12
)

// joinFacts cuts the last facts, which are the least important, if they do not fit beside name and bar.
func (b *bars) joinFacts(facts ...string) string {
	facts = slices.DeleteFunc(facts, func(fact string) bool { return fact == "" })
	return cutCell(strings.Join(facts, ", "), b.width-nameWidth-barWidth-1)
}

func (b *bars) describeStream(s ledger.StreamProgress) string {
	line := fmt.Sprintf("%-*s%-10s%15s%18s, %s", nameWidth, s.Name, ledger.StandingOf(s.Grade), humanize.Count(s.Rows, "row"),
		humanize.Count(s.Requests, "request"), retriesText(s.Retries))
	return cutCell(strings.TrimSuffix(line, ", "), b.width)
}

// outOf omits a total of 0, which means unknown.
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
	return humanize.Count(n, "retry")
}

func timeLeft(d time.Duration) string {
	if d == 0 {
		return ""
	}
	return d.Round(time.Second).String() + " left"
}

// Write prints lines above the bars. After close it writes directly to the output.
func (b *bars) Write(text []byte) (int, error) {
	if b.ended.Load() {
		return b.out.Write(text)
	}
	return b.progress.Write(text)
}

func (b *bars) close() {
	b.ended.Store(true)
	b.stream.Abort(true)
	b.total.Abort(true)
	b.progress.Wait()
}

// workBar shows the progress of work that is no night: as a bar on a terminal, otherwise as one line a minute.
type workBar struct {
	name   string
	format func(n int64) string // of an amount of work

	mu          sync.Mutex // guards the fields below
	done, total int64
	startedAt   time.Time

	progress *mpb.Progress // nil if there is no terminal
	bar      *mpb.Bar
	out      io.Writer
	stopLog  func()
}

// showWork shows the progress of work until stop is called. noun is the unit of the work; an empty noun means bytes.
func (g *globals) showWork(name, noun string) *workBar {
	w := &workBar{name: name, startedAt: time.Now(), out: g.stderr, stopLog: func() {}}
	w.format = func(n int64) string { return humanize.Count(n, noun) }
	if noun == "" {
		w.format = humanize.FormatBytes
	}
	if !g.showsBars() {
		if !g.Quiet {
			log := g.newLogger()
			w.stopLog = callEvery(time.Minute, func() { log.Info("still working", "work", w.name, "progress", w.describe()) })
		}
		return w
	}
	w.progress = newBarArea(g.stderr, g.stderrWidth)
	w.bar = w.progress.New(0, barStyle(), mpb.PrependDecorators(decor.Name(name+" ")),
		mpb.AppendDecorators(decor.Any(func(decor.Statistics) string { return " " + w.describe() })))
	return w
}

// set states how much of the work is done. A total of 0 means that it is not known yet.
func (w *workBar) set(done, total int64) {
	w.mu.Lock()
	w.done, w.total = done, total
	w.mu.Unlock()
	if w.bar != nil {
		w.bar.SetTotal(max(total, done)+1, false) // a full bar would end
		w.bar.SetCurrent(done)
	}
}

// describe returns the amounts, the rate and the time left.
func (w *workBar) describe() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return describeWork(w.done, w.total, time.Since(w.startedAt), w.format)
}

func describeWork(done, total int64, took time.Duration, format func(n int64) string) string {
	text := format(done)
	if total > 0 {
		text = fmt.Sprintf("%s of %s", text, format(total))
	}
	if done <= 0 || took <= 0 {
		return text
	}
	perMinute := float64(done) * float64(time.Minute) / float64(took)
	text += ", " + format(int64(perMinute)) + " a minute"
	if left := time.Duration(float64(took) * float64(total-done) / float64(done)); total > done {
		text += ", " + left.Round(time.Second).String() + " left"
	}
	return text
}

// Write prints lines above the bar.
func (w *workBar) Write(text []byte) (int, error) {
	if w.progress == nil {
		return w.out.Write(text)
	}
	return w.progress.Write(text)
}

// newLogger returns the log of the work. Above a bar it contains only warnings and errors.
func (w *workBar) newLogger(g *globals) *slog.Logger {
	if w.progress == nil {
		return g.newLogger()
	}
	return g.NewLoggerAt(slog.LevelWarn, w)
}

func (w *workBar) stop() {
	w.stopLog()
	if w.progress != nil {
		w.bar.Abort(true)
		w.progress.Wait()
	}
}

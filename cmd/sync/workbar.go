package main

import (
	"fmt"
	"io"
	"log/slog"
	"sync"
	"time"

	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"

	"placementsync/internal/humanize"
)

// workBar shows the progress of work that is no night: as a bar on a terminal, otherwise as one line a minute.
type workBar struct {
	name   string
	format func(n int64) string // of an amount of work
	now    func() time.Time

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
	w := &workBar{name: name, now: time.Now, startedAt: time.Now(), out: g.stderr, stopLog: func() {}}
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
	const maxWidth = 120
	w.progress = mpb.New(mpb.WithOutput(g.stderr), mpb.WithWidth(min(g.stderrWidth, maxWidth)), mpb.WithAutoRefresh(), mpb.WithRefreshRate(redrawInterval))
	style := mpb.BarStyle().Lbound("[").Filler("=").Tip(">").Padding(" ").Rbound("]")
	w.bar = w.progress.New(0, style, mpb.PrependDecorators(decor.Name(name+" ")),
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
	return describeWork(w.done, w.total, w.now().Sub(w.startedAt), w.format)
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

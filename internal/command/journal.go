package command

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"
	"sync"
)

// FeedsJournal reports whether a file is the stream to journald that systemd named in
// JOURNAL_STREAM. A child inherits the variable also when its stderr leads elsewhere.
func FeedsJournal(f *os.File, lookupEnv func(string) (string, bool)) bool {
	named, ok := lookupEnv("JOURNAL_STREAM")
	if !ok {
		return false
	}
	device, inode, ok := identifyFile(f)
	return ok && named == fmt.Sprintf("%d:%d", device, inode)
}

// PrefixLines puts the priority of a level before each line of a text, as sd-daemon(3)
// has it. journald takes it off again: the lines are found by journalctl -p.
func PrefixLines(level slog.Level, text string) string {
	priority := "<7>"
	switch {
	case level >= slog.LevelError:
		priority = "<3>"
	case level >= slog.LevelWarn:
		priority = "<4>"
	case level >= slog.LevelInfo:
		priority = "<6>"
	}
	var b strings.Builder
	for line := range strings.Lines(text) {
		b.WriteString(priority + line)
	}
	return b.String()
}

// journalHandler is a handler whose lines begin with their priority.
type journalHandler struct {
	slog.Handler // writes to line
	line         *journalLine
}

// Handle implements slog.Handler.
func (h journalHandler) Handle(ctx context.Context, r slog.Record) error {
	h.line.mu.Lock()
	defer h.line.mu.Unlock()
	h.line.level = r.Level
	return h.Handler.Handle(ctx, r)
}

// WithAttrs implements slog.Handler.
func (h journalHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return journalHandler{h.Handler.WithAttrs(attrs), h.line}
}

// WithGroup implements slog.Handler.
func (h journalHandler) WithGroup(name string) slog.Handler {
	return journalHandler{h.Handler.WithGroup(name), h.line}
}

// journalLine is where a journalHandler writes one record at a time.
type journalLine struct {
	to    io.Writer
	mu    sync.Mutex // held while a record is written
	level slog.Level // that of the record
}

// Write implements io.Writer. Priority and line are one write, so that no other line
// comes between them.
func (l *journalLine) Write(p []byte) (int, error) {
	if _, err := io.WriteString(l.to, PrefixLines(l.level, string(p))); err != nil {
		return 0, err
	}
	return len(p), nil
}

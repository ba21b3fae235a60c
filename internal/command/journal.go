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

// FeedsJournal reports whether f is the stream to journald. It compares device and inode
// with JOURNAL_STREAM, because a child inherits the variable even if its stderr is
// redirected.
func FeedsJournal(f *os.File, lookupEnv func(string) (string, bool)) bool {
	stream, ok := lookupEnv("JOURNAL_STREAM")
	if !ok {
		return false
	}
	device, inode, ok := identifyFile(f)
	return ok && stream == fmt.Sprintf("%d:%d", device, inode)
}

// PrefixLines puts the priority of a level before each line of a text, as described in
// sd-daemon(3). journald strips the prefix and stores the priority for journalctl -p.
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

// journalHandler prefixes each line of a record with the priority of the record.
type journalHandler struct {
	slog.Handler // writes to out
	out          *journalWriter
}

var _ slog.Handler = journalHandler{}

func (h journalHandler) Handle(ctx context.Context, r slog.Record) error {
	h.out.mu.Lock()
	defer h.out.mu.Unlock()
	h.out.level = r.Level
	return h.Handler.Handle(ctx, r)
}

func (h journalHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return journalHandler{h.Handler.WithAttrs(attrs), h.out}
}

func (h journalHandler) WithGroup(name string) slog.Handler {
	return journalHandler{h.Handler.WithGroup(name), h.out}
}

// journalWriter prefixes the lines of one record at a time.
type journalWriter struct {
	w     io.Writer
	mu    sync.Mutex // held by journalHandler while it handles a record
	level slog.Level // of that record
}

// Write writes priority and line at once, so that no other output comes between them.
func (l *journalWriter) Write(p []byte) (int, error) {
	if _, err := io.WriteString(l.w, PrefixLines(l.level, string(p))); err != nil {
		return 0, err
	}
	return len(p), nil
}

package cli

import (
	"cmp"
	"fmt"
	"io"
	"log/slog"
	"os"
	"regexp"
	"strings"
	"syscall"
)

// FeedsJournal reports whether stderr is the stream to journald. It compares device and inode
// with JOURNAL_STREAM, because a child inherits the variable even if its stderr is
// redirected.
func FeedsJournal(stderr io.Writer, lookupEnv func(string) (string, bool)) bool {
	journalID, _ := lookupEnv("JOURNAL_STREAM")
	f, isFile := stderr.(*os.File)
	if !isFile {
		return false
	}
	info, err := f.Stat()
	if err != nil {
		return false
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && journalID == fmt.Sprintf("%d:%d", stat.Dev, stat.Ino)
}

// LogWriter returns a writer of log lines to w. If stderr is connected to journald, the writer puts
// the priority of each line before the line.
func (f *Flags) LogWriter(w io.Writer) io.Writer {
	if f.Journal {
		return journalWriter{w}
	}
	return w
}

type journalWriter struct{ w io.Writer }

// levelOfLine matches the beginning of a line in either format of the log.
var levelOfLine = regexp.MustCompile(`^(?:time=\S+ )?level=(\w+)|^\{(?:"time":"[^"]*",)?"level":"(\w+)"`)

// Write writes priority and line in one call, so that no other output comes between them.
func (j journalWriter) Write(line []byte) (int, error) {
	level := slog.LevelInfo
	if match := levelOfLine.FindStringSubmatch(string(line)); match != nil {
		name := cmp.Or(match[1], match[2])    // of the text format, or of the JSON format
		_ = level.UnmarshalText([]byte(name)) // after an error the level is still info
	}
	if _, err := io.WriteString(j.w, prefixLines(level, string(line))); err != nil {
		return 0, err
	}
	return len(line), nil
}

// prefixLines puts the priority of a level before each line of a text, as described in
// sd-daemon(3). journald strips the prefix and stores the priority for "journalctl -p".
func prefixLines(level slog.Level, text string) string {
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

package query_test

import (
	"os"
	"strings"
	"testing"

	"placementsync/internal/query"
)

// TestAFileOfUnknownSizeIsLimited reads a file of the kernel. Its size is stated as 0, but it contains megabytes.
func TestAFileOfUnknownSizeIsLimited(t *testing.T) {
	const file = "/proc/kallsyms"
	if _, err := os.Stat(file); err != nil {
		t.Skip(err)
	}
	if text, err := query.ReadText(file); err == nil || !strings.Contains(err.Error(), "is larger than") {
		t.Errorf("read %d bytes (%v), want an error", len(text), err)
	}
}

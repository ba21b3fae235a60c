package load_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"placementsync/internal/testing/harness"
)

// TestEveryStatementIsUsed finds the names of all statements of the .sql files in the code.
func TestEveryStatementIsUsed(t *testing.T) {
	read := func(pattern string) string {
		files, err := filepath.Glob(pattern)
		harness.Must(t, err)
		var all strings.Builder
		for _, file := range files {
			text, err := os.ReadFile(file)
			harness.Must(t, err)
			all.Write(text)
		}
		return all.String()
	}
	code, names := read("*.go"), regexp.MustCompile(`(?m)^-- name: (\w+)$`).FindAllStringSubmatch(read("sql/*.sql"), -1)
	for _, m := range names {
		if !strings.Contains(code, `"`+m[1]+`"`) {
			t.Errorf("the statement %s is not used", m[1])
		}
	}
	if len(names) < 100 {
		t.Errorf("found %d statements, want at least 100", len(names))
	}
}

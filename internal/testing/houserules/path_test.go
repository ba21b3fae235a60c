package houserules_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var pathRow = regexp.MustCompile("(?m)^\\| [^|]+ \\| `([^`]+)` \\| `([^`]+)` \\|$")

// TestPathOfAValue checks the table in the section "The path of a value" of docs/ARCHITECTURE.md.
// The file of each row must declare the name in the row. The table may contain at most maxFiles
// files.
func TestPathOfAValue(t *testing.T) {
	const maxFiles = 18
	root := filepath.Join("..", "..", "..")
	page, err := os.ReadFile(filepath.Join(root, "docs", "ARCHITECTURE.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(page), "\n## The path of a value\n")
	section, _, _ = strings.Cut(section, "\n## ")
	files := map[string]bool{}
	for _, row := range pathRow.FindAllStringSubmatch(section, -1) {
		file, name := row[1], regexp.QuoteMeta(row[2])
		files[file] = true
		content, err := os.ReadFile(filepath.Join(root, file))
		if err != nil {
			t.Error(err)
			continue
		}
		declared := regexp.MustCompile(`(?m)^func (\([^)]*\) )?` + name + `\(|^-- name: ` + name + `$|^ +` + name + ` |Name: "` + name + `"`)
		if !declared.Match(content) {
			t.Errorf("docs/ARCHITECTURE.md: %s does not declare %s: correct the row", file, row[2])
		}
	}
	if len(files) == 0 || len(files) > maxFiles {
		t.Errorf("docs/ARCHITECTURE.md: the path of a value has %d files, want 1 to %d", len(files), maxFiles)
	}
}

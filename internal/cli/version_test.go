package cli_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/spf13/cobra"

	"placementsync/internal/cli"
	"placementsync/internal/testing/harness"
	"placementsync/internal/warehouse"
	"placementsync/schema"
)

// TestVersion covers --version and both formats of the command "version".
func TestVersion(t *testing.T) {
	run := func(args ...string) string {
		var f cli.Flags
		var stdout, stderr bytes.Buffer
		root := &cobra.Command{Use: "program"}
		f.AddTo(root)
		cli.AddVersion(root, "1.0.0", "0123456789ab")
		if code := f.Execute(t.Context(), root, args, &stdout, &stderr); code != 0 {
			t.Fatalf("the exit code of %q is %d, want 0: %s", args, code, &stderr)
		}
		return stdout.String()
	}
	if got, want := run("--version"), "program 1.0.0 (0123456789ab)\n"; got != want {
		t.Errorf("--version prints %q, want %q", got, want)
	}
	var build cli.Build
	harness.Must(t, json.Unmarshal([]byte(run("version", "--format", "json")), &build))
	if !regexp.MustCompile(`^[1-9]+\.\d+\.\d+$`).MatchString(build.DuckDB) {
		t.Errorf("the version of DuckDB is %q, want three numbers", build.DuckDB)
	}
	want := cli.Build{Program: "program", Version: "1.0.0", Commit: "0123456789ab", DuckDB: build.DuckDB, Arrow: arrow.PkgVersion,
		Go: strings.TrimPrefix(runtime.Version(), "go"), Platform: runtime.GOOS + "/" + runtime.GOARCH,
		Storage: warehouse.StorageVersion, Format: warehouse.Format, Schema: schema.SchemaVersion()}
	if build != want {
		t.Errorf("got %+v, want %+v", build, want)
	}
	text := fmt.Sprintf("program 1.0.0\ncommit    %s\nduckdb    %s\narrow     %s\ngo        %s\nplatform  %s\nstorage   %s\nformat    %d\nschema    %s\n",
		want.Commit, want.DuckDB, want.Arrow, want.Go, want.Platform, want.Storage, want.Format, want.Schema)
	if got := run("version"); got != text {
		t.Errorf("got\n%swant\n%s", got, text)
	}
	root := &cobra.Command{Use: "program"}
	cli.AddVersion(root, "1.0.0", "")
	if root.Version != "1.0.0" {
		t.Errorf("without a commit, the version is %q, want 1.0.0", root.Version)
	}
}

func TestWriteJSON(t *testing.T) {
	var written bytes.Buffer
	if err := cli.WriteJSON(&written, map[string]string{"a": "<&>"}); err != nil || written.String() != "{\n  \"a\": \"<&>\"\n}\n" {
		t.Errorf("WriteJSON wrote %q (%v), want indented JSON with unescaped markup", &written, err)
	}
}

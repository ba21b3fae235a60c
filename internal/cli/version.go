package cli

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/spf13/cobra"

	"placementsync/internal/warehouse"
	"placementsync/schema"
)

// Build has the versions of a program, of its libraries, and of its file formats.
type Build struct {
	Program string `json:"program"`
	Version string `json:"version"`
	// Commit ends with +dirty if the source differed from the commit. Empty means unknown.
	Commit   string `json:"commit"`
	DuckDB   string `json:"duckdb"`
	Arrow    string `json:"arrow"`
	Go       string `json:"go"`
	Platform string `json:"platform"`
	// Storage is the storage version of the DuckDB files that the program writes. Format is the
	// version of the warehouse layout. Schema is the version of the tables.
	Storage string `json:"storage"`
	Format  int    `json:"format"`
	Schema  string `json:"schema"`
}

// AddVersion adds the command "version" and the flag --version to a program. An empty commit
// is replaced by the commit that Go recorded in the build.
func AddVersion(root *cobra.Command, version, commit string) {
	commit = cmp.Or(commit, readCommit())
	root.Version = version
	if commit != "" {
		root.Version += " (" + commit + ")"
	}
	root.SetVersionTemplate("{{.DisplayName}} {{.Version}}\n")
	root.Flags().Bool("version", false, "print version and commit in one line")
	var format string
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print the versions of the program, its libraries and its files",
		Long: "Print the versions of the program, DuckDB, Arrow and Go, and the commit of the program.\n" +
			"Three versions describe the files that the program writes: the storage version of the DuckDB\n" +
			"files, the format of the warehouse, and the schema of the tables. Every later DuckDB can open\n" +
			"the DuckDB files.",
		Args: NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			duckDBVersion, err := warehouse.EngineVersion(cmd.Context())
			if err != nil {
				return err
			}
			build := Build{Program: root.Name(), Version: version, Commit: commit,
				DuckDB: strings.TrimPrefix(duckDBVersion, "v"), Arrow: arrow.PkgVersion, Go: strings.TrimPrefix(runtime.Version(), "go"),
				Platform: runtime.GOOS + "/" + runtime.GOARCH,
				Storage:  warehouse.StorageVersion, Format: warehouse.Format, Schema: schema.SchemaVersion()}
			return build.write(cmd.OutOrStdout(), format)
		},
	}
	AddFormat(cmd, &format, "text", "json")
	root.AddCommand(cmd)
}

// AddFormat adds the flag --format with its values. The shell completes them, and any other value is
// wrong usage. The first value is the default.
func AddFormat(cmd *cobra.Command, format *string, values ...string) {
	last := len(values) - 1
	choice := strings.Join(values[:last], ", ") + " or " + values[last]
	cmd.Flags().StringVar(format, "format", values[0], choice)
	cmd.PreRunE = func(*cobra.Command, []string) error {
		if !slices.Contains(values, *format) {
			return UsageErr("--format is %q: use %s", *format, choice)
		}
		return nil
	}
	// The call fails only for an unknown flag.
	_ = cmd.RegisterFlagCompletionFunc("format", cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp))
}

func readCommit() string {
	settings := map[string]string{}
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			settings[s.Key] = s.Value
		}
	}
	commit := settings["vcs.revision"]
	if commit != "" && settings["vcs.modified"] == "true" {
		commit += "+dirty"
	}
	return commit
}

func (b Build) write(w io.Writer, format string) error {
	if format == "json" {
		return WriteJSON(w, b)
	}
	var text strings.Builder
	fmt.Fprintf(&text, "%s %s\n", b.Program, b.Version)
	for _, line := range [][2]string{
		{"commit", cmp.Or(b.Commit, "unknown")}, {"duckdb", b.DuckDB}, {"arrow", b.Arrow}, {"go", b.Go}, {"platform", b.Platform},
		{"storage", b.Storage}, {"format", fmt.Sprint(b.Format)}, {"schema", b.Schema},
	} {
		fmt.Fprintf(&text, "%-8s  %s\n", line[0], line[1])
	}
	_, err := io.WriteString(w, text.String())
	return err
}

// WriteJSON writes a result of a command with the format json.
func WriteJSON(w io.Writer, value any) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	return enc.Encode(value)
}

package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/spf13/cobra"

	"placementsync/internal/cli"
	"placementsync/internal/query"
)

// outputOptions are the flags of commands that print rows.
type outputOptions struct {
	// format is the flag --format. If it is empty, the extension of the file of -o selects the format.
	format     string
	bom        bool
	vertical   bool
	file       string // empty means stdout
	maxRows    int
	noPager    bool
	withGrades bool // a flag of query only
	// firstColumns are the most important columns. A narrow terminal hides them last.
	firstColumns []string
}

func (o *outputOptions) addFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&o.format, "format", "", "table (on a pipe: plain aligned text), vertical, csv, json, jsonl or markdown; with -o also\n"+
		"parquet or xlsx. Default: from the extension of the -o file, else table")
	f.BoolVar(&o.bom, "bom", false, "start CSV with a byte order mark, so that Excel recognizes UTF-8")
	f.BoolVar(&o.vertical, "vertical", false, "write each column on its own line, as --format vertical does")
	f.StringVarP(&o.file, "output", "o", "", "write to a `file` atomically: .txt, .csv, .json, .jsonl, .md, .parquet or .xlsx")
	f.IntVar(&o.maxRows, "rows", 0, "maximum number of rows that a terminal shows; 0 means 10,000")
	f.BoolVar(&o.noPager, "no-pager", false, "write a long table to the terminal instead of showing it with PAGER")
	var names []string
	for _, format := range query.Formats() {
		names = append(names, string(format))
	}
	completeFlag(cmd, "format", cobra.FixedCompletions(names, cobra.ShellCompDirectiveNoFileComp))
}

// parseFormat returns the format of --format, or else of the file of -o. It also checks the other flags.
func (o outputOptions) parseFormat() (query.Format, error) {
	if o.maxRows < 0 {
		return "", cli.UsageErr("--rows is %d: use 0 or more", o.maxRows)
	}
	if err := checkOutputFolder(o.file); err != nil {
		return "", err
	}
	format, err := query.Table, error(nil)
	if o.format != "" {
		format, err = query.ParseFormat(o.format)
	} else if o.file != "" && !o.vertical {
		format, err = query.FormatOf(o.file)
	}
	switch {
	case err != nil:
		return "", err
	case o.withGrades && format != query.JSON:
		return "", cli.UsageErr("--with-grades needs --format json")
	case o.bom && format != query.CSV:
		return "", cli.UsageErr("--bom needs the format csv, not %s", format)
	case o.vertical && format != query.Table && format != query.Vertical:
		return "", cli.UsageErr("--vertical and --format %s exclude each other", format)
	case o.vertical:
		return query.Vertical, nil
	}
	return format, nil
}

func (o outputOptions) writeResult(
	ctx context.Context, g *globals, db *query.DB, format query.Format, q query.Query, values map[string]string,
) (int64, error) {
	admitted, err := db.Admit(ctx, q, values)
	if err != nil {
		return 0, err
	}
	return o.writeAdmitted(ctx, g, format, q, admitted, nil)
}

// writeAdmitted writes the result of an admitted query. Nil grades are omitted.
func (o outputOptions) writeAdmitted(
	ctx context.Context, g *globals, format query.Format, q query.Query, admitted query.Admitted, grades *query.Grades,
) (int64, error) {
	output := query.Output{Format: format, BOM: o.bom, Grades: grades}
	if o.file != "" {
		return admitted.Save(ctx, output, o.file)
	}
	// SQL of the user shows values as they are stored.
	output.EnumWords = q.Name != "" && (format == query.Table || format == query.Vertical)
	first := o.firstColumns
	if len(first) == 0 {
		first = q.First
	}
	var rows int64
	write := func(out io.Writer) error {
		w, err := query.NewWriter(output, out, query.Screen{Terminal: g.width > 0, Width: g.width, Rows: o.maxRows, First: first})
		if err == nil {
			rows, err = admitted.Run(ctx, w)
		}
		return err
	}
	if o.noPager {
		err := write(g.stdout)
		return rows, err
	}
	err := g.page(ctx, write)
	return rows, err
}

// page calls write and shows its output. On a terminal, an output with more lines than the screen is shown by the
// program that PAGER names, or by less.
func (g *globals) page(ctx context.Context, write func(w io.Writer) error) error {
	if g.width == 0 || g.height == 0 {
		return write(g.stdout)
	}
	var text bytes.Buffer
	writeErr := write(&text)
	pager, ok := g.LookupEnv("PAGER")
	if !ok {
		pager = "less"
	}
	if writeErr != nil || pager == "" || bytes.Count(text.Bytes(), []byte("\n")) < g.height {
		if _, err := g.stdout.Write(text.Bytes()); err != nil {
			return err
		}
		return writeErr
	}
	cmd := exec.CommandContext(ctx, "sh", "-c", pager)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(text.Bytes()), g.stdout, g.stderr
	cmd.Env = os.Environ()
	if _, isSet := g.LookupEnv("LESS"); !isSet {
		cmd.Env = append(cmd.Env, "LESS=FRX") // as git does: end if the text fits, show colors, keep the screen
	}
	const notFound = 127 // the exit code of the shell
	err := cmd.Run()
	if cmd.ProcessState != nil && cmd.ProcessState.ExitCode() == notFound {
		_, err = g.stdout.Write(text.Bytes())
		return err
	}
	if err != nil {
		return fmt.Errorf("show the table with PAGER %q: %w: correct PAGER, or use --no-pager", pager, err)
	}
	return nil
}

// screen returns standard output. On a terminal, it writes complete lines and escapes control characters.
func (g *globals) screen() io.Writer {
	if g.width == 0 {
		return g.stdout
	}
	return &query.ScreenWriter{To: g.stdout}
}

func checkOutputFolder(file string) error {
	if file == "" {
		return nil
	}
	dir := filepath.Dir(file)
	info, err := os.Stat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return cli.UsageErr("write %s: the folder %s does not exist: create it, or name another file with -o", file, dir)
	case err == nil && !info.IsDir():
		return cli.UsageErr("write %s: %s is not a folder: name another file with -o", file, dir)
	}
	return nil // writing the file reports other errors
}

// writeGraded runs a query and writes its result. Without --quiet, it then lists on stderr the source
// tables that the last night did not read or could not prove complete, because such a table can be the
// reason for an empty result.
func (o outputOptions) writeGraded(
	ctx context.Context, g *globals, db *query.DB, format query.Format, q query.Query, values map[string]string,
) (rows int64, err error) {
	if g.Quiet && !o.withGrades {
		return o.writeResult(ctx, g, db, format, q, values)
	}
	admitted, err := db.Admit(ctx, q, values)
	if err != nil {
		return 0, err
	}
	sources, sourcesErr := admitted.Sources(ctx)
	var grades *query.Grades
	if o.withGrades {
		snapshot, err := db.SelectedSnapshot(ctx)
		if err := cmp.Or(sourcesErr, err); err != nil {
			return 0, err
		}
		grades = &query.Grades{Snapshot: snapshot, Sources: sources}
	}
	rows, err = o.writeAdmitted(ctx, g, format, q, admitted, grades)
	if err != nil || g.Quiet {
		return rows, err
	}
	if line := query.DescribeSources(sources); line != "" {
		fmt.Fprintln(g.stderr, query.EscapeLines("source tables: "+line))
	}
	if sourcesErr != nil {
		fmt.Fprintln(g.stderr, query.EscapeLines("cannot read the grades of the source tables: "+sourcesErr.Error()))
	}
	return rows, nil
}

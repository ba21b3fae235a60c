package main

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/spf13/cobra"

	"placementsync/internal/command"
	"placementsync/internal/config"
	"placementsync/internal/fetch"
	"placementsync/internal/ledger"
	"placementsync/internal/nearest"
	"placementsync/internal/plural"
	"placementsync/internal/query"
	"placementsync/internal/stream"
)

type rawOptions struct {
	stream string
	param  string
	page   int
	pass   int
	seq    uint64
	format string
	list   bool // --format was given
	print  bool
}

func rawCommand(g *globals) *cobra.Command {
	var o rawOptions
	cmd := &cobra.Command{
		Use:   "raw [RUN]",
		Short: "List the stored answers of a run, or print one unchanged",
		Long: "List the stored answers of a run, or print one unchanged, to examine a suspicious value. The\n" +
			"default is the newest run with stored answers. The flags select answers. A single selected\n" +
			"answer is printed: its body is unpacked and otherwise unchanged, but on a terminal control\n" +
			"characters are escaped. Several answers are listed. --format always lists.",
		Args: cobra.MaximumNArgs(1),
		RunE: command.MarkWork(func(cmd *cobra.Command, args []string) error {
			o.list = cmd.Flags().Changed("format")
			if cmd.Flags().Changed("seq") && o.seq == 0 {
				return command.UsageErr("--seq is 0: answers are counted from 1")
			}
			if cmd.Flags().Changed("page") && o.page < 1 {
				return command.UsageErr("--page is %d: pages are counted from 1", o.page)
			}
			if cmd.Flags().Changed("pass") && o.pass < 1 {
				return command.UsageErr("--pass is %d: passes over a list are counted from 1", o.pass)
			}
			return runRaw(g, o, args)
		}),
	}
	f := cmd.Flags()
	f.StringVar(&o.stream, "stream", "", "only answers of this `stream`, such as orders")
	f.StringVar(&o.param, "param", "", "only answers about this `id` in the path")
	f.IntVar(&o.page, "page", 0, "only this page")
	f.IntVar(&o.pass, "pass", 0, "only this pass over the list")
	f.Uint64Var(&o.seq, "seq", 0, "only the answer with this `number`")
	f.BoolVar(&o.print, "print", false, "print the one answer, and fail when several are selected")
	f.StringVar(&o.format, "format", "table", "list as table, csv or json")
	cmd.ValidArgsFunction = completer{g}.completeRun(landedRuns)
	completeFlag(cmd, "stream", completeStreams)
	return cmd
}

// selects reports whether the flags select an answer.
func (o rawOptions) selects(a fetch.Answer) bool {
	if o.seq != 0 {
		return a.Seq == o.seq
	}
	return (o.stream == "" || a.Stream == o.stream) && (o.param == "" || a.Param == o.param) &&
		(o.page == 0 || a.Page == o.page) && (o.pass == 0 || a.Pass == o.pass)
}

func runRaw(g *globals, o rawOptions, args []string) error {
	write, err := rawWriter(o.format)
	if err != nil {
		return err
	}
	if o.list && o.print {
		return command.UsageErr("--print and --format exclude each other: print one answer, or list them")
	}
	run, stored, err := openRaw(g, args)
	if err != nil {
		return err
	}
	defer stored.Close()
	chosen, damaged, err := o.selectAnswers(stored)
	if err != nil {
		return err
	}
	one, single := onlyAnswer(chosen)
	switch {
	case single && !o.list:
		err = printBody(g, run, stored, one)
	case len(chosen) == 0 && o.stream != "" && !slices.Contains(streamNames(stream.All()), o.stream):
		err = unknownStreamErr(o.stream)
	case len(chosen) == 0:
		err = fmt.Errorf("find answers of run %s: no stored answer matches; list all with placementsync raw %s --format table", run, run)
	case o.print:
		return command.UsageErr("%d answers of run %s match: choose one with --seq, or by --stream, --param, --page and --pass", len(chosen), run)
	default:
		err = g.writeHarmless(func(w io.Writer) error { return write(w, chosen) })
	}
	if damaged > 0 {
		err = errors.Join(err, fmt.Errorf("read the answers of run %s: %d lines of its journal are damaged, so their answers are missing; see placementsync verify --read-data", run, damaged))
	}
	return err
}

// selectAnswers returns the selected answers and the number of damaged lines of the journal.
func (o rawOptions) selectAnswers(stored *fetch.Answers) (chosen []fetch.Answer, damaged int, err error) {
	for a, err := range stored.All() {
		switch {
		case errors.Is(err, fetch.ErrDamagedLine):
			damaged++
		case err != nil:
			return nil, 0, err
		case o.selects(a):
			chosen = append(chosen, a)
		}
	}
	return chosen, damaged, nil
}

// unknownStreamErr suggests similar names, or lists all.
func unknownStreamErr(name string) error {
	known := streamNames(stream.All())
	if alike := nearest.FindAlike(known, name); len(alike) > 0 {
		return command.UsageErr("unknown stream %q: did you mean %s?", name, strings.Join(alike, " or "))
	}
	return command.UsageErr("unknown stream %q: use one of %s", name, strings.Join(known, ", "))
}

// onlyAnswer returns the answer of a selection with one answer, or with one answer and
// others that it replaced.
func onlyAnswer(chosen []fetch.Answer) (fetch.Answer, bool) {
	if len(chosen) != 1 {
		chosen = slices.DeleteFunc(slices.Clone(chosen), func(a fetch.Answer) bool { return a.Replaced })
	}
	if len(chosen) != 1 {
		return fetch.Answer{}, false
	}
	return chosen[0], true
}

// openRaw opens the answers of the run in args, or of the newest run with stored answers.
func openRaw(g *globals, args []string) (string, *fetch.Answers, error) {
	wh, cfg, err := g.openWarehouse()
	if err != nil {
		return "", nil, err
	}
	runs, err := wh.Folder.LandedRuns()
	if err != nil {
		return "", nil, err
	}
	kept := fmt.Sprintf("prune removes answers older than %d days (retention.raw_days)", cfg.Retention.RawDays)
	if cfg.Privacy.Raw == config.RawDiscard {
		kept = "answers are deleted as soon as their night is published (privacy.raw: discard)"
	}
	switch {
	case len(args) > 0 && !slices.Contains(runs, args[0]):
		return "", nil, &ledger.UnknownRunError{Problem: fmt.Sprintf("open the answers of run %q: it has no stored answers; %s; runs with stored answers: %s", args[0], kept, orNone(strings.Join(runs, ", ")))}
	case len(args) > 0:
		runs = args
	case len(runs) == 0:
		return "", nil, fmt.Errorf("open the answers of the newest run: no run has stored answers; %s", kept)
	}
	run := runs[len(runs)-1]
	stored, err := fetch.OpenAnswers(wh.Folder.RawPath(run))
	if errors.Is(err, fs.ErrNotExist) {
		err = fmt.Errorf("open the answers of run %s: it has no journal, because no answers were stored or because it is lost: see placementsync verify", run)
	}
	return run, stored, err
}

func printBody(g *globals, run string, stored *fetch.Answers, a fetch.Answer) error {
	body, err := stored.Body(a)
	if err != nil {
		return fmt.Errorf("print an answer of run %s: %w; see placementsync verify --read-data", run, err)
	}
	if len(body) == 0 {
		_, err := fmt.Fprintf(g.stderr, "answer %d has status %d and no body\n", a.Seq, a.Status)
		return err
	}
	return g.writeHarmless(func(w io.Writer) error {
		_, err := w.Write(body)
		return err
	})
}

// writeHarmless writes to standard output. On a terminal, control characters are escaped.
func (g *globals) writeHarmless(write func(io.Writer) error) error {
	if g.width == 0 {
		return write(g.stdout)
	}
	var text strings.Builder
	if err := write(&text); err != nil {
		return err
	}
	shown := query.OnScreen(strings.ReplaceAll(text.String(), "\r\n", "\n"))
	_, err := fmt.Fprintln(g.stdout, strings.TrimSuffix(shown, "\n"))
	return err
}

// rawWriter returns the function that lists answers in a format.
func rawWriter(format string) (func(io.Writer, []fetch.Answer) error, error) {
	switch format {
	case "table":
		return rawTable, nil
	case "csv":
		return rawCSV, nil
	case "json":
		return func(w io.Writer, all []fetch.Answer) error {
			shown := make([]answerJSON, len(all))
			for i, a := range all {
				shown[i] = showAnswer(a)
			}
			return writeJSON(w, shown)
		}, nil
	}
	return nil, command.UsageErr("--format is %q: use table, csv or json", format)
}

// answerJSON is the JSON form of an answer. CSV has the same columns. Missing numbers are
// null.
type answerJSON struct {
	Seq      uint64    `json:"seq"`
	Stream   string    `json:"stream"`
	Path     string    `json:"path"`
	Query    string    `json:"query"`
	Param    string    `json:"param"`
	Page     *int      `json:"page"`
	Pass     *int      `json:"pass"`
	Status   int       `json:"status"`
	Encoding string    `json:"encoding"`
	Stored   int64     `json:"stored_bytes"`
	Size     int64     `json:"body_bytes"`
	At       time.Time `json:"at"`
	Millis   float64   `json:"ms"`
	Same     *uint64   `json:"same"`
	Replaced bool      `json:"replaced"`
}

func showAnswer(a fetch.Answer) answerJSON {
	return answerJSON{a.Seq, a.Stream, a.Path, a.Query, a.Param, orNull(a.Page), orNull(a.Pass), a.Status, a.Encoding, a.Stored, a.Size,
		a.At, float64(a.Took.Microseconds()) / 1000, orNull(a.Same), a.Replaced}
}

// orNull is nil for 0.
func orNull[N int | uint64](n N) *N {
	if n == 0 {
		return nil
	}
	return &n
}

func rawTable(w io.Writer, all []fetch.Answer) error {
	t := newTable("seq", "stream", "param", "page", "pass", "status", "encoding", "stored", "body", "at", "took", "")
	for _, a := range all {
		var notes []string
		if a.Same != 0 {
			notes = append(notes, fmt.Sprintf("same bytes as %d", a.Same))
		}
		if a.Replaced {
			notes = append(notes, "replaced by a later answer")
		}
		t.AppendRow(table.Row{a.Seq, a.Stream, a.Param, numberOrNone(orNull(a.Page)), numberOrNone(orNull(a.Pass)), a.Status, a.Encoding,
			plural.FormatBytes(a.Stored), plural.FormatBytes(a.Size), a.At.Format(time.DateTime), a.Took.Round(100 * time.Microsecond), strings.Join(notes, ", ")})
	}
	alignRight(t, 1, 4, 5, 6, 8, 9, 11)
	_, err := fmt.Fprintln(w, t.Render())
	return err
}

// numberOrNone returns "" for nil. For example, the answer for a single id has no page.
func numberOrNone[N int | uint64](n *N) string {
	if n == nil {
		return ""
	}
	return fmt.Sprint(*n)
}

func rawCSV(w io.Writer, all []fetch.Answer) error {
	out := csv.NewWriter(w)
	out.UseCRLF = true
	of := reflect.TypeFor[answerJSON]()
	names := make([]string, of.NumField())
	for i := range names {
		names[i] = of.Field(i).Tag.Get("json")
	}
	rows := [][]string{names}
	for _, a := range all {
		row, v := make([]string, len(names)), reflect.ValueOf(showAnswer(a))
		for i := range row {
			row[i] = textOfField(v.Field(i).Interface())
		}
		rows = append(rows, row)
	}
	return out.WriteAll(rows)
}

// textOfField formats a field of answerJSON for CSV.
func textOfField(field any) string {
	switch v := field.(type) {
	case *int:
		return numberOrNone(v)
	case *uint64:
		return numberOrNone(v)
	case time.Time:
		return v.Format(time.RFC3339Nano)
	}
	return fmt.Sprint(field)
}

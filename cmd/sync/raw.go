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

// rawOptions are the flags of raw.
type rawOptions struct {
	stream string
	param  string
	page   int
	pass   int
	seq    uint64
	format string
	list   bool // the format was asked for
	print  bool
}

func rawCommand(g *globals) *cobra.Command {
	var o rawOptions
	cmd := &cobra.Command{
		Use:   "raw [RUN]",
		Short: "List the stored answers of a run, or print one as the service sent it",
		Long: "List the stored answers of a run, or print one as the service sent it: for a value that\n" +
			"looks wrong. Without RUN, of the newest run that has any. The flags select answers. Where\n" +
			"they select one, its body is printed, unpacked and otherwise byte for byte; on a terminal,\n" +
			"characters that would act on it are shown as escapes. Where they select several, these are\n" +
			"listed, as they are with --format.",
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

// selects reports whether the flags select an answer. One that was replaced is selected
// by its number alone.
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
		err = fmt.Errorf("find answers of run %s: none of those stored fits; list all with placementsync raw %s --format table", run, run)
	case o.print:
		return command.UsageErr("%d answers of run %s fit: choose one with --seq, or by --stream, --param, --page and --pass", len(chosen), run)
	default:
		err = g.writeHarmless(func(w io.Writer) error { return write(w, chosen) })
	}
	if damaged > 0 {
		err = errors.Join(err, fmt.Errorf("read the answers of run %s: %d lines of its journal are damaged, and their answers missing here; see placementsync verify --read-data", run, damaged))
	}
	return err
}

// selectAnswers returns the answers that the flags select, and the number of damaged lines.
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

// unknownStreamErr says that there is no such stream, and which may be meant.
func unknownStreamErr(name string) error {
	known := streamNames(stream.All())
	if alike := nearest.FindAlike(known, name); len(alike) > 0 {
		return command.UsageErr("unknown stream %q: did you mean %s?", name, strings.Join(alike, " or "))
	}
	return command.UsageErr("unknown stream %q: use one of %s", name, strings.Join(known, ", "))
}

// onlyAnswer returns the one answer that a selection names, of several to one request the
// last.
func onlyAnswer(chosen []fetch.Answer) (fetch.Answer, bool) {
	if len(chosen) != 1 {
		chosen = slices.DeleteFunc(slices.Clone(chosen), func(a fetch.Answer) bool { return a.Replaced })
	}
	if len(chosen) != 1 {
		return fetch.Answer{}, false
	}
	return chosen[0], true
}

// openRaw opens the answers of the run that args name, or of the newest that has any.
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
		return "", nil, &ledger.UnknownRunError{Problem: fmt.Sprintf("open the answers of run %q: it has none; %s; runs that have: %s", args[0], kept, orNone(strings.Join(runs, ", ")))}
	case len(args) > 0:
		runs = args
	case len(runs) == 0:
		return "", nil, fmt.Errorf("open the answers of the newest run: no run has any; %s", kept)
	}
	run := runs[len(runs)-1]
	stored, err := fetch.OpenAnswers(wh.Folder.RawPath(run))
	if errors.Is(err, fs.ErrNotExist) {
		err = fmt.Errorf("open the answers of run %s: it has no journal; nothing landed, or it is lost: see placementsync verify", run)
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

// writeHarmless writes to the standard output: on a terminal, what would act on it is
// shown as escapes.
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

// rawWriter is the function that lists answers in a format.
func rawWriter(format string) (func(io.Writer, []fetch.Answer) error, error) {
	switch format {
	case "table":
		return rawTable, nil
	case "csv":
		return rawCSV, nil
	case "json":
		return func(w io.Writer, all []fetch.Answer) error {
			shown := make([]shownAnswer, len(all))
			for i, a := range all {
				shown[i] = showAnswer(a)
			}
			return writeJSON(w, shown)
		}, nil
	}
	return nil, command.UsageErr("--format is %q: use table, csv or json", format)
}

// shownAnswer is an answer as JSON has it, and in this order CSV. A number that an answer
// does not have is null.
type shownAnswer struct {
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

func showAnswer(a fetch.Answer) shownAnswer {
	return shownAnswer{a.Seq, a.Stream, a.Path, a.Query, a.Param, orNull(a.Page), orNull(a.Pass), a.Status, a.Encoding, a.Stored, a.Size,
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
			notes = append(notes, fmt.Sprintf("the same bytes as %d", a.Same))
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

// numberOrNone is empty for nil, as the page is of a record that is asked for by its id.
func numberOrNone[N int | uint64](n *N) string {
	if n == nil {
		return ""
	}
	return fmt.Sprint(*n)
}

func rawCSV(w io.Writer, all []fetch.Answer) error {
	out := csv.NewWriter(w)
	out.UseCRLF = true
	of := reflect.TypeFor[shownAnswer]()
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

// textOfField writes a field of shownAnswer as CSV has it.
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

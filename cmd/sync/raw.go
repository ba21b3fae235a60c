package main

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"placementsync/internal/cli"
	"placementsync/internal/config"
	"placementsync/internal/fetch"
	"placementsync/internal/humanize"
	"placementsync/internal/ledger"
)

type rawOptions struct {
	stream    string
	param     string
	page      int
	pass      int
	seq       uint64
	format    string
	hasFormat bool // --format was given
	print     bool
}

func rawCommand(g *globals) *cobra.Command {
	var o rawOptions
	cmd := &cobra.Command{
		Use:   "raw [RUN]",
		Short: "List the stored responses of a run, or print one unchanged",
		Long: "List the stored responses of a run, or print one unchanged, to examine a suspicious value. The\n" +
			"default is the newest run with stored responses. The flags select responses. A single selected\n" +
			"response is printed: its body is decompressed and otherwise unchanged, but on a terminal,\n" +
			"control characters are escaped. Several responses are listed. --format always lists.",
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.hasFormat = cmd.Flags().Changed("format")
			for _, flag := range []string{"seq", "page", "pass"} {
				value := cmd.Flags().Lookup(flag).Value.String()
				if cmd.Flags().Changed(flag) && (value == "0" || value[0] == '-') {
					return cli.UsageErr("--%s is %s: use 1 or more", flag, value)
				}
			}
			return runRaw(g, o, args)
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.stream, "stream", "", "only responses of this `stream`, such as orders")
	f.StringVar(&o.param, "param", "", "only responses to requests with this `id` in the path")
	f.IntVar(&o.page, "page", 0, "only this page")
	f.IntVar(&o.pass, "pass", 0, "only this pass over the list")
	f.Uint64Var(&o.seq, "seq", 0, "only the response with this `number`")
	f.BoolVar(&o.print, "print", false, "print one response; fail if several are selected")
	cli.AddFormat(cmd, &o.format, "table", "csv", "json")
	cmd.ValidArgsFunction = g.completeRun(runsWithResponses)
	completeFlag(cmd, "stream", completeStreams)
	return cmd
}

func (o rawOptions) selects(r fetch.StoredResponse) bool {
	if o.seq != 0 {
		return r.Seq == o.seq
	}
	return (o.stream == "" || r.Stream == o.stream) &&
		(o.param == "" || r.Param == o.param) &&
		(o.page == 0 || r.Page == o.page) &&
		(o.pass == 0 || r.Pass == o.pass)
}

func runRaw(g *globals, o rawOptions, args []string) error {
	if o.hasFormat && o.print {
		return cli.UsageErr("--print and --format exclude each other: print one response, or list them")
	}
	run, responses, err := openStoredResponses(g, args)
	if err != nil {
		return err
	}
	defer responses.Close()
	var selected []fetch.StoredResponse
	stored, damagedLines := 0, 0 // lines of the journal
	for r, err := range responses.All() {
		switch {
		case errors.Is(err, fetch.ErrDamagedLine):
			damagedLines++
		case err != nil:
			return err
		default:
			stored++
			if o.selects(r) {
				selected = append(selected, r)
			}
		}
	}
	printable := selected
	if len(selected) > 1 { // a replaced response is printed only if no other is selected
		printable = slices.DeleteFunc(slices.Clone(selected), func(r fetch.StoredResponse) bool { return r.Replaced })
	}
	switch {
	case len(printable) == 1 && !o.hasFormat:
		err = printBody(g, run, responses, printable[0])
	case len(selected) == 0 && cli.SuggestStream(o.stream) != "":
		err = cli.UsageErr("no stream is named %q: %s", o.stream, cli.SuggestStream(o.stream))
	case stored+damagedLines == 0:
		err = fmt.Errorf("find responses of run %s: the run stored no responses: placementsync runs shows why", run)
	case len(selected) == 0:
		err = fmt.Errorf("find responses of run %s: no stored response matches: list all with placementsync raw %s --format table", run, run)
	case o.print:
		return cli.UsageErr("print a response of run %s: %d responses match: choose one with --seq, or with --stream, --param, --page and --pass", run, len(selected))
	case o.format == "csv":
		err = writeResponseCSV(g.screen(), selected)
	case o.format == "json":
		err = writeResponseJSON(g.screen(), selected)
	default:
		err = writeResponseTable(g.screen(), selected)
	}
	if damagedLines > 0 {
		err = errors.Join(err, fmt.Errorf("read the responses of run %s: the index of its responses (journal.jsonl) has %s; the responses of these lines are missing: see placementsync verify --read-data", run, humanize.Count(damagedLines, "damaged line")))
	}
	return err
}

func openStoredResponses(g *globals, args []string) (string, *fetch.StoredResponses, error) {
	wh, cfg, err := g.openWarehouse()
	if err != nil {
		return "", nil, err
	}
	runs, err := wh.Folder.RunsWithResponses()
	if err != nil {
		return "", nil, err
	}
	retentionText := fmt.Sprintf("prune removes responses older than %d days (retention.raw_days)", cfg.Retention.RawDays)
	if cfg.Privacy.Raw == config.RawDiscard {
		retentionText = "responses are removed as soon as their night is published (privacy.raw: discard)"
	}
	if len(args) > 0 && !slices.Contains(runs, args[0]) {
		return "", nil, &ledger.UnknownRunError{Message: fmt.Sprintf("open the responses of run %q: it has no stored responses; %s; runs with stored responses: %s", args[0], retentionText, orNone(strings.Join(runs, ", ")))}
	}
	if len(runs) == 0 {
		return "", nil, fmt.Errorf("open the responses of the newest run: no run has stored responses; %s", retentionText)
	}
	run := runs[len(runs)-1]
	if len(args) > 0 {
		run = args[0]
	}
	responses, err := fetch.OpenStoredResponses(wh.Folder.RawPath(run))
	if errors.Is(err, fs.ErrNotExist) {
		err = fmt.Errorf("open the responses of run %s: it has no index of its responses (journal.jsonl), because no responses were stored or because the index is lost: see placementsync verify", run)
	}
	return run, responses, err
}

func printBody(g *globals, run string, responses *fetch.StoredResponses, r fetch.StoredResponse) error {
	body, err := responses.Body(r)
	if err != nil {
		return fmt.Errorf("print a response of run %s: %w: see placementsync verify --read-data", run, err)
	}
	if len(body) == 0 {
		_, err := fmt.Fprintf(g.stderr, "response %d has status %d and no body\n", r.Seq, r.Status)
		return err
	}
	if g.width > 0 && !bytes.HasSuffix(body, []byte("\n")) {
		body = append(body, '\n')
	}
	_, err = g.screen().Write(body)
	return err
}

// responseJSON is the JSON form of a response. Missing numbers are null.
type responseJSON struct {
	Seq      uint64    `json:"seq"`
	Stream   string    `json:"stream"`
	Path     string    `json:"path"`
	Query    string    `json:"query"`
	Param    string    `json:"param"`
	Page     *int      `json:"page"`
	Pass     *int      `json:"pass"`
	Status   int       `json:"status"`
	Encoding string    `json:"encoding"`
	Stored   uint32    `json:"stored_bytes"`
	Size     uint32    `json:"body_bytes"`
	At       time.Time `json:"at"`
	Millis   float64   `json:"ms"`
	Replaced bool      `json:"replaced"`
}

func writeResponseJSON(w io.Writer, all []fetch.StoredResponse) error {
	shown := make([]responseJSON, len(all))
	for i, r := range all {
		shown[i] = responseJSON{
			Seq: r.Seq, Stream: r.Stream, Path: r.Path, Query: r.Query, Param: r.Param, Page: orNull(r.Page), Pass: orNull(r.Pass),
			Status: r.Status, Encoding: r.Encoding, Stored: r.Stored, Size: r.Size, At: r.At, Millis: r.Millis, Replaced: r.Replaced,
		}
	}
	return cli.WriteJSON(w, shown)
}

func orNull(n int) *int {
	if n == 0 {
		return nil
	}
	return &n
}

// numberText returns "" for 0. For example, the response for a single id has no page.
func numberText(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprint(n)
}

func writeResponseTable(w io.Writer, all []fetch.StoredResponse) error {
	t := textTable{columns: []column{{name: "seq", isNumber: true}, {name: "stream"}, {name: "param"}, {name: "page", isNumber: true}, {name: "pass", isNumber: true},
		{name: "status", isNumber: true}, {name: "encoding"}, {name: "stored", isNumber: true}, {name: "body", isNumber: true}, {name: "at"},
		{name: "took", isNumber: true}, {name: ""}}}
	for _, r := range all {
		note := ""
		if r.Replaced {
			note = "replaced by a later response"
		}
		took := time.Duration(r.Millis * float64(time.Millisecond))
		t.addRow(r.Seq, r.Stream, r.Param, numberText(r.Page), numberText(r.Pass), r.Status, r.Encoding, humanize.FormatBytes(int64(r.Stored)),
			humanize.FormatBytes(int64(r.Size)), r.At.Format(time.DateTime), took.Round(100*time.Microsecond), note)
	}
	_, err := fmt.Fprintln(w, t.render(0))
	return err
}

func writeResponseCSV(w io.Writer, all []fetch.StoredResponse) error {
	rows := [][]string{{"seq", "stream", "path", "query", "param", "page", "pass", "status", "encoding", "stored_bytes", "body_bytes", "at", "ms", "replaced"}}
	for _, r := range all {
		rows = append(rows, []string{fmt.Sprint(r.Seq), r.Stream, r.Path, r.Query, r.Param, numberText(r.Page), numberText(r.Pass), fmt.Sprint(r.Status), r.Encoding,
			fmt.Sprint(r.Stored), fmt.Sprint(r.Size), r.At.Format(time.RFC3339Nano), fmt.Sprint(r.Millis), fmt.Sprint(r.Replaced)})
	}
	out := csv.NewWriter(w)
	out.UseCRLF = true
	return out.WriteAll(rows)
}

package query

import (
	"bytes"
	"context"
	"encoding/gob"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unicode/utf8"

	"golang.org/x/sys/unix"

	"placementsync/internal/durable"
	"placementsync/internal/humanize"
)

// Job is SQL of the user that runs in a child process. A crash of DuckDB then ends only the child,
// and a function that DuckDB cannot interrupt is killed with the child. [Job.Run] starts the child,
// which calls [Work].
type Job struct {
	Catalog, AsOf string // see [Open]
	// SQL is a single statement that only reads. A header may declare parameters, see [ParseText].
	SQL    string
	Values map[string]string // of the parameters; the others have their defaults
	// Format is CSV, Excel or Parquet. If it is empty, Run returns the result and writes no file.
	Format  Format
	BOM     bool // see [Output]
	MaxRows int  // of a returned result
	// DiskLimit is the maximum size in bytes of the written file, and of all temporary files
	// together. Zero means no limit.
	DiskLimit int64
	// The other fields are passed to [Open] in [Options].
	MemoryLimit string
	Threads     int
	Timeout     time.Duration
	Settings    Settings
}

// NewJob returns a job that runs a query of the user on the snapshot of db, with the options of db. The job
// returns at most maxRows rows.
func (db *DB) NewJob(q Query, values map[string]string, maxRows int) Job {
	j := Job{Catalog: db.file, SQL: q.SQL, Values: values, MaxRows: maxRows,
		MemoryLimit: db.opts.MemoryLimit, Threads: db.opts.Threads, Timeout: db.opts.Timeout, Settings: db.opts.Settings}
	if db.asOf != nil {
		j.AsOf = db.asOf.Run
	}
	return j
}

// StatementError explains to the author of a statement why it has no result.
type StatementError struct {
	Problem string
	// Line and Column are the position in the SQL, counted from 1. Zero means unknown.
	Line, Column int
	// Unreadable is true if a damaged file may be the cause, see [IsUnreadable].
	Unreadable bool
}

func (e *StatementError) Error() string { return e.Problem }

// CrashError reports that the child process ended without a result.
type CrashError struct {
	// State is the exit code or the signal. Output is the beginning of the child's error output.
	State, Output string
}

func (e *CrashError) Error() string {
	return fmt.Sprintf("the process that ran the statement ended without a result (%s): it used too much memory, or DuckDB crashed; other queries and nights are not affected", e.State)
}

type jobResult struct {
	Result
	Problem *StatementError
}

const (
	jobFile        = "result" // in the folder of the child
	maxJobResult   = 64 << 20 // bytes of the child's output
	maxErrorOutput = 16 << 10
)

// Run runs the job in a process that command starts. The environment of the process contains only
// TMPDIR, a private folder that is removed afterwards. The process is killed if ctx ends. With a
// Format, the complete file is copied to w, and the result contains only the number of its rows. Errors are
// *StatementError, *CrashError, the cause of ctx, or errors of the system.
func (j Job) Run(ctx context.Context, command []string, w io.Writer) (_ Result, err error) {
	dir, err := durable.MakeTempFolder("placementsync-sql-")
	if err != nil {
		return Result{}, err
	}
	defer func() { err = errors.Join(err, dir.Remove()) }()
	if j.Catalog, err = filepath.Abs(j.Catalog); err != nil {
		return Result{}, err
	}
	input, err := json.Marshal(j)
	if err != nil {
		return Result{}, err
	}
	out, errOut := limitedBuffer{maxBytes: maxJobResult}, limitedBuffer{maxBytes: maxErrorOutput}
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.Dir = dir.Dir
	cmd.Env = []string{"TMPDIR=" + dir.Dir}
	cmd.Stdout, cmd.Stderr = &out, &errOut
	stdin, err := cmd.StdinPipe() // the child stops when stdin is closed, for example by the end of this process
	if err != nil {
		return Result{}, err
	}
	if err := cmd.Start(); err != nil {
		return Result{}, fmt.Errorf("start the process of the statement: %w", err)
	}
	_, _ = stdin.Write(append(input, '\n')) // an error means that the process ended
	err = cmd.Wait()
	if ctx.Err() != nil {
		return Result{}, context.Cause(ctx)
	}
	if out.isTruncated {
		return Result{}, &StatementError{Problem: fmt.Sprintf("the first %d rows have more than %d MB: select fewer columns, or download the result", j.MaxRows, maxJobResult>>20)}
	}
	var got jobResult
	if err == nil {
		err = gob.NewDecoder(bytes.NewReader(out.kept)).Decode(&got)
	}
	if err != nil {
		return Result{}, &CrashError{cmd.ProcessState.String(), string(errOut.kept)}
	}
	if got.Problem != nil {
		return Result{}, got.Problem
	}
	if j.Format != "" {
		return got.Result, copyFile(w, filepath.Join(dir.Dir, jobFile))
	}
	return got.Result, nil
}

func copyFile(w io.Writer, file string) error {
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = io.Copy(w, f)
	return err
}

type limitedBuffer struct {
	kept        []byte
	maxBytes    int
	isTruncated bool
}

func (b *limitedBuffer) Write(p []byte) (int, error) {
	n := min(len(p), b.maxBytes-len(b.kept))
	b.kept = append(b.kept, p[:n]...)
	b.isTruncated = b.isTruncated || n < len(p)
	return len(p), nil
}

// Work runs in the child process. It reads a Job from in, runs the job and writes the result to out.
// When in is closed, the job is stopped.
func Work(ctx context.Context, in io.Reader, out io.Writer) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var j Job
	if err := json.NewDecoder(in).Decode(&j); err != nil {
		return fmt.Errorf("read the job: %w", err)
	}
	go func() {
		_, _ = io.Copy(io.Discard, in)
		cancel()
	}()
	if j.DiskLimit > 0 {
		signal.Ignore(syscall.SIGXFSZ) // a write beyond the limit then returns EFBIG
		limit := unix.Rlimit{Cur: uint64(j.DiskLimit), Max: uint64(j.DiskLimit)}
		if err := unix.Setrlimit(unix.RLIMIT_FSIZE, &limit); err != nil {
			return fmt.Errorf("limit the size of files: %w", err)
		}
	}
	got, err := j.runInChild(ctx)
	if err != nil {
		got = jobResult{Problem: newStatementError(j.SQL, err)}
	}
	if err != nil && exceedsDiskLimit(err) {
		got.Problem = &StatementError{Problem: "the result or its temporary files are larger than " + humanize.FormatBytes(j.DiskLimit) + ": select fewer rows or columns, or aggregate"}
	}
	return gob.NewEncoder(out).Encode(got)
}

func (j Job) runInChild(ctx context.Context) (got jobResult, err error) {
	q, err := ParseText("the statement", j.SQL)
	if err != nil {
		return got, err
	}
	q.File = "" // the user has not saved it
	o := Options{MemoryLimit: j.MemoryLimit, Threads: j.Threads, Timeout: j.Timeout, AsOf: j.AsOf, Settings: j.Settings}
	if j.DiskLimit > 0 {
		o.SpillLimit = fmt.Sprint(j.DiskLimit) + "B"
	}
	db, err := Open(ctx, j.Catalog, o)
	if err != nil {
		return got, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	if j.Format != "" {
		got.Total, err = db.Save(ctx, q, j.Values, Output{Format: j.Format, BOM: j.BOM, Defuse: true}, jobFile)
		return got, err
	}
	got.Result, err = db.Ask(ctx, q.Limit(j.MaxRows+1), j.Values, j.MaxRows)
	return got, err
}

func exceedsDiskLimit(err error) bool {
	text := err.Error()
	return errors.Is(err, syscall.EFBIG) || strings.Contains(text, "File too large") || strings.Contains(text, "max_temp_directory_size")
}

// newStatementError converts an error of the SQL in text. It adds the position of the mistake, and
// leaves out advice for the command line.
func newStatementError(text string, err error) *StatementError {
	if refused, ok := errors.AsType[*RefusedError](err); ok {
		return &StatementError{Problem: refused.Plain()}
	}
	if usage, ok := errors.AsType[*UsageError](err); ok { // without the list of parameters, which are in text
		return &StatementError{Problem: usage.Problem}
	}
	problem, details, _ := strings.Cut(err.Error(), "\n")
	if _, cause, ok := strings.Cut(problem, "run query: "); ok {
		problem = cause
	}
	e := &StatementError{Problem: problem, Unreadable: IsUnreadable(err)}
	if suggestion, _, ok := strings.Cut(details, "\nLINE "); ok { // DuckDB may suggest other names
		e.Problem = strings.TrimSpace(problem + " " + strings.TrimSpace(suggestion))
	}
	e.Line, e.Column = findPosition(text, err.Error())
	return e
}

var errorLine = regexp.MustCompile(`\nLINE (\d+):`)

// findPosition returns the position of an error in the SQL in text. DuckDB prints the line of the
// error, with a caret below the position. The printed line may be shortened at both ends. The
// printed line number is one too high if the SQL is in brackets, see inBrackets.
func findPosition(text, problem string) (line, column int) {
	m := errorLine.FindStringSubmatchIndex(problem)
	if m == nil {
		return 0, 0
	}
	number, _ := strconv.Atoi(problem[m[2]:m[3]])
	shown, below, _ := strings.Cut(problem[m[1]:], "\n")
	// The match begins with a line break and ends before a space. It is as long as the label, such as "LINE 3: ".
	labelWidth := m[1] - m[0]
	beforeCaret := strings.IndexByte(below, '^') - labelWidth // characters of the SQL
	excerpt := strings.TrimPrefix(shown, " ")
	if rest, isCut := strings.CutPrefix(excerpt, "..."); isCut {
		excerpt, beforeCaret = rest, beforeCaret-len("...")
	}
	excerpt = strings.TrimSuffix(excerpt, "...")
	lines := strings.Split(text, "\n")
	for _, n := range []int{number, number - 1} {
		if n < 1 || n > len(lines) {
			continue
		}
		beforeExcerpt, _, isFound := strings.Cut(lines[n-1], excerpt)
		if isFound {
			return n, max(1, 1+utf8.RuneCountInString(beforeExcerpt)+beforeCaret)
		}
	}
	return 0, 0
}

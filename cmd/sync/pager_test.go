package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"placementsync/internal/cli"
)

func TestLongOutputIsPaged(t *testing.T) {
	t.Parallel()
	const lines = "1\n2\n3\n"
	for _, c := range []struct {
		name, pager   string
		width, height int
		want          string
	}{
		{"no terminal", "sed s/^/p/", 0, 0, lines},
		{"a short output", "sed s/^/p/", 80, 4, lines},
		{"a long output", "sed s/^/p/", 80, 3, "p1\np2\np3\n"},
		{"no pager", "", 80, 3, lines},
		{"a missing pager", "/nosuch/pager", 80, 3, "sh: "}, // the shell explains it, and the output follows
	} {
		var out bytes.Buffer
		g := &globals{process: process{stdout: &out, stderr: &out, width: c.width, height: c.height,
			Host: cli.Host{LookupEnv: func(name string) (string, bool) { return c.pager, name == "PAGER" }}}}
		err := g.page(t.Context(), func(w io.Writer) error {
			_, err := fmt.Fprint(w, lines)
			return err
		})
		if got := out.String(); err != nil || !strings.HasPrefix(got, c.want) || !strings.HasSuffix(got, "3\n") {
			t.Errorf("%s: got %q, %v, want %q", c.name, got, err, c.want)
		}
	}
}

// TestPagerIsTold checks the environment of the pager: LESS has a default, and a value of the user is kept. An output
// that cannot be completed is not paged, and a pager that fails is named.
func TestPagerIsTold(t *testing.T) {
	const lines = "1\n2\n3\n"
	for _, c := range []struct {
		name, pager, less string
		writeErr          error
		want, wantErr     string
	}{
		{name: "no options", pager: "cat >&2; printenv LESS", want: lines + "FRX\n"},
		{name: "own options", pager: "printenv LESS", less: "S", want: "S\n"},
		{name: "half an output", pager: "cat >&2", writeErr: io.ErrUnexpectedEOF, want: lines, wantErr: "unexpected EOF"},
		{name: "a failing pager", pager: "exit 3",
			wantErr: `show the table with PAGER "exit 3": exit status 3: correct PAGER, or use --no-pager`},
	} {
		var out bytes.Buffer
		g := &globals{process: process{stdout: &out, stderr: &out, width: 80, height: 3,
			Host: cli.Host{LookupEnv: func(name string) (string, bool) {
				return map[string]string{"PAGER": c.pager, "LESS": c.less}[name], name == "PAGER" || name == "LESS" && c.less != ""
			}}}}
		t.Setenv("LESS", c.less)
		err := g.page(t.Context(), func(w io.Writer) error {
			_, err := fmt.Fprint(w, lines)
			return errors.Join(err, c.writeErr)
		})
		if got := out.String(); got != c.want || (err == nil) != (c.wantErr == "") || err != nil && err.Error() != c.wantErr {
			t.Errorf("%s: got %q and the error %v, want %q and %q", c.name, got, err, c.want, c.wantErr)
		}
	}
}

// TestControlCharactersAreEscaped writes text of the service to a terminal and to a pipe.
func TestControlCharactersAreEscaped(t *testing.T) {
	t.Parallel()
	for width, want := range map[int]string{0: "a\x1b\n", 80: `a\x1b` + "\n"} {
		var out bytes.Buffer
		if _, err := (&globals{process: process{stdout: &out, width: width}}).screen().Write([]byte("a\x1b\n")); err != nil {
			t.Fatal(err)
		}
		if out.String() != want {
			t.Errorf("with width %d got %q, want %q", width, &out, want)
		}
	}
}

package main

import (
	"bytes"
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

package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
)

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
	whole := bytes.Clone(text.Bytes())
	cmd := exec.CommandContext(ctx, "sh", "-c", pager)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = &text, g.stdout, g.stderr
	cmd.Env = os.Environ()
	if _, isSet := g.LookupEnv("LESS"); !isSet {
		cmd.Env = append(cmd.Env, "LESS=FRX") // as git does: end if the text fits, show colors, keep the screen
	}
	const notFound = 127 // the exit code of the shell
	err := cmd.Run()
	if cmd.ProcessState != nil && cmd.ProcessState.ExitCode() == notFound {
		_, err = g.stdout.Write(whole)
		return err
	}
	if err != nil {
		return fmt.Errorf("show the table with PAGER %q: %w: correct PAGER, or use --no-pager", pager, err)
	}
	return nil
}

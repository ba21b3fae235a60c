package mcp_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"placementsync/internal/mcp"
	"placementsync/internal/testing/harness"
)

const (
	initialize  = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`
	ping        = `{"jsonrpc":"2.0","id":2,"method":"ping"}`
	endlessCall = `{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"sql","arguments":{"sql":"` + endless + `"}}}`
)

type nopCloseWriter struct{ io.Writer }

func (nopCloseWriter) Close() error { return nil }

// exchange runs a server on an input and returns the lines of its output.
func exchange(t *testing.T, cfg mcp.Config, input string) []string {
	t.Helper()
	var out strings.Builder
	if err := mcp.Run(t.Context(), cfg, io.NopCloser(strings.NewReader(input)), nopCloseWriter{&out}); err != nil {
		t.Errorf("the server ended with %v", err)
	}
	return strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
}

// summarize returns the id of a response with its error code, or with "ok".
func summarize(t *testing.T, line string) string {
	t.Helper()
	var response struct {
		ID     any             `json:"id"`
		Result json.RawMessage `json:"result"`
		Error  *struct {
			Code    int
			Message string
		}
	}
	if err := json.Unmarshal([]byte(line), &response); err != nil {
		t.Fatalf("parse the response %q: %v", line, err)
	}
	if response.Error != nil {
		if response.Error.Message == "" {
			t.Errorf("the response %s has an error without a message", line)
		}
		return fmt.Sprint(response.ID, " ", response.Error.Code)
	}
	return fmt.Sprint(response.ID, " ok")
}

// TestUnknownMethods checks that a call of an unknown method gets the JSON-RPC error -32601, and that the session
// continues.
func TestUnknownMethods(t *testing.T) {
	lines := exchange(t, config(""), initialize+"\n"+`{"jsonrpc":"2.0","id":9,"method":"nosuch"}`+"\n"+ping+"\n\n")
	var got []string
	for _, line := range lines {
		got = append(got, summarize(t, line))
	}
	slices.Sort(got)
	if want := []string{"1 ok", "2 ok", "9 -32601"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestInvalidMessagesEndTheSession sends lines that are not messages after a call. Run must return an error.
func TestInvalidMessagesEndTheSession(t *testing.T) {
	harness.Concurrent(t)
	for name, line := range map[string]string{
		"not JSON":       "hello",
		"truncated JSON": `{"jsonrpc":"2.0","id":9,`,
		"not a message":  `{"a":1}`,
		"too long":       `{"jsonrpc":"2.0","id":9,"method":"` + strings.Repeat("x", 17<<20) + `"}`,
	} {
		t.Run(name, func(t *testing.T) {
			var out strings.Builder
			err := mcp.Run(t.Context(), config(""), io.NopCloser(strings.NewReader(initialize+"\n"+line+"\n")), nopCloseWriter{&out})
			if err == nil || !strings.HasPrefix(err.Error(), "serve the client: ") {
				t.Errorf("Run returned %v, want an error; output: %s", err, out.String())
			}
		})
	}
}

// TestRunWaitsForCalls ends the input after the last call, with and without a line end.
func TestRunWaitsForCalls(t *testing.T) {
	harness.Concurrent(t)
	cfg := config(catalogOfTwoNights(t))
	cfg.Timeout = 200 * time.Millisecond
	for name, input := range map[string]string{"with a line end": endlessCall + "\n", "without a line end": endlessCall} {
		t.Run(name, func(t *testing.T) {
			lines := exchange(t, cfg, initialize+"\n"+ping+"\n"+input)
			if len(lines) != 3 || !strings.Contains(strings.Join(lines, "\n"), "stopped after 200ms") {
				t.Errorf("got %q, want three lines, one with the error \"stopped after 200ms\"", lines)
			}
		})
	}
}

// TestRunCancelsCallsAfterDrain runs an endless query without a time limit.
func TestRunCancelsCallsAfterDrain(t *testing.T) {
	harness.Concurrent(t)
	cfg := config(catalogOfTwoNights(t))
	cfg.Timeout, cfg.Drain = 0, 200*time.Millisecond
	began := time.Now()
	if lines := exchange(t, cfg, initialize+"\n"+endlessCall+"\n"); summarize(t, lines[0]) != "1 ok" || len(lines) > 2 {
		t.Errorf("got %q, want the result of initialize and at most one more line", lines)
	}
	if took := time.Since(began); took > 50*cfg.Drain {
		t.Errorf("the call was cancelled after %s, want about %s", took, cfg.Drain)
	}
}

// TestRunReturnsErrorsOfTheInput makes a read fail after a successful call.
func TestRunReturnsErrorsOfTheInput(t *testing.T) {
	in, feed := io.Pipe()
	responses, out := io.Pipe()
	done := make(chan error, 1)
	go func() { done <- mcp.Run(t.Context(), config(""), in, out) }()
	if _, err := io.WriteString(feed, initialize+"\n"); err != nil {
		t.Fatal(err)
	}
	if lines := bufio.NewScanner(responses); !lines.Scan() {
		t.Fatal(lines.Err())
	}
	harness.Must(t, feed.CloseWithError(io.ErrClosedPipe))
	if err := <-done; err == nil || !strings.Contains(err.Error(), io.ErrClosedPipe.Error()) {
		t.Errorf("Run returned %v, want the error of the input", err)
	}
}

// brokenWriter is the output of a client that has gone.
type brokenWriter struct{}

func (brokenWriter) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }
func (brokenWriter) Close() error              { return nil }

// TestRunDoesNotWaitForUnwrittenResponses ends the input after a call whose response cannot be written.
func TestRunDoesNotWaitForUnwrittenResponses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		err := mcp.Run(t.Context(), config(""), io.NopCloser(strings.NewReader(initialize+"\n")), brokenWriter{})
		if took := time.Since(began); took > 0 {
			t.Errorf("Run returned %v after %s, want no wait", err, took)
		}
	})
}

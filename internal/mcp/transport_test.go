package mcp_test

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"placementsync/internal/mcp"
	"placementsync/internal/testing/fixture"
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

// TestInvalidMessagesDoNotEndTheSession sends a line between two calls. The JSON-RPC error codes are
// -32700 for a line that is not JSON, -32600 for an invalid message and -32601 for an unknown method.
func TestInvalidMessagesDoNotEndTheSession(t *testing.T) {
	for name, c := range map[string]struct{ line, want string }{
		"not JSON":                 {"hello", "<nil> -32700"},
		"truncated JSON":           {`{"jsonrpc":"2.0","id":9,`, "<nil> -32700"},
		"two values":               {`{} {}`, "<nil> -32700"},
		"binary":                   {"\x00\xff", "<nil> -32700"},
		"deep nesting":             {strings.Repeat("[", 100_000), "<nil> -32700"},
		"not a message":            {`{"a":1}`, "<nil> -32600"},
		"a string":                 {`"ping"`, "<nil> -32600"},
		"an empty batch":           {`[]`, "<nil> -32600"},
		"another JSON-RPC version": {`{"jsonrpc":"1.0","id":9,"method":"ping"}`, "<nil> -32600"},
		"an unknown method":        {`{"jsonrpc":"2.0","id":9,"method":"nosuch"}`, "9 -32601"},
		"space around a call":      {"  " + `{"jsonrpc":"2.0","id":9,"method":"ping"}` + " \r", "9 ok"},
	} {
		t.Run(name, func(t *testing.T) {
			lines := exchange(t, config(""), initialize+"\n"+c.line+"\n"+ping+"\n\n")
			var got []string
			for _, line := range lines {
				got = append(got, summarize(t, line))
			}
			all := strings.Join(got, ", ")
			if len(got) != 3 || !strings.Contains(all, "1 ok") || !strings.Contains(all, "2 ok") || !strings.Contains(all, c.want) {
				t.Errorf("got %s, want %s and the results of the calls 1 and 2", all, c.want)
			}
		})
	}
}

// TestRunWaitsForCalls ends the input after the last call, with and without a line end.
func TestRunWaitsForCalls(t *testing.T) {
	cfg := config(fixture.NewEmptyCatalog(t).Fill(t, twoNights))
	cfg.Timeout = time.Second
	for name, input := range map[string]string{"with a line end": endlessCall + "\n", "without a line end": endlessCall} {
		t.Run(name, func(t *testing.T) {
			lines := exchange(t, cfg, initialize+"\n"+ping+"\n"+input)
			if len(lines) != 3 || !strings.Contains(strings.Join(lines, "\n"), "stopped after 1s") {
				t.Errorf("got %q, want three lines, one with the error \"stopped after 1s\"", lines)
			}
		})
	}
}

// TestRunCancelsCallsAfterDrain runs an endless query without a time limit.
func TestRunCancelsCallsAfterDrain(t *testing.T) {
	cfg := config(fixture.NewEmptyCatalog(t).Fill(t, twoNights))
	cfg.Timeout, cfg.Drain = 0, time.Second
	if lines := exchange(t, cfg, initialize+"\n"+endlessCall+"\n"); summarize(t, lines[0]) != "1 ok" || len(lines) > 2 {
		t.Errorf("got %q, want the result of initialize and at most one more line", lines)
	}
}

func TestTooLongMessagesEndTheSession(t *testing.T) {
	var out strings.Builder
	long := `{"jsonrpc":"2.0","id":9,"method":"` + strings.Repeat("x", 17<<20) + `"}`
	err := mcp.Run(t.Context(), config(""), io.NopCloser(strings.NewReader(long+"\n")), nopCloseWriter{&out})
	if !errors.Is(err, bufio.ErrTooLong) {
		t.Errorf("Run returned %v, want bufio.ErrTooLong; output: %s", err, out.String())
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
	if err := feed.CloseWithError(io.ErrClosedPipe); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err == nil || !strings.Contains(err.Error(), io.ErrClosedPipe.Error()) {
		t.Errorf("Run returned %v, want the error of the input", err)
	}
}

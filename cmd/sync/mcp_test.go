package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"placementsync/internal/testing/harness"
)

// mcpProgram is the program with a configuration. The warehouse contains three nights.
type mcpProgram struct{ config string }

// connect starts the program with args, as the programs of assistants do, and connects to it.
func (a mcpProgram) connect(t *testing.T, args []string) *sdk.ClientSession {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "placementsync", args...)
	cmd.Dir = t.TempDir() // not the folder of the configuration
	cmd.Stderr = os.Stderr
	session, err := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "v1"}, nil).Connect(t.Context(), &sdk.CommandTransport{Command: cmd}, nil)
	harness.Must(t, err)
	return session
}

// TestAssistants starts the program and calls its tools over standard input and output, as assistants do.
func TestAssistants(t *testing.T) {
	t.Parallel()
	a := mcpProgram{config: threeNights(t)}
	// The environment of an assistant has no token.
	text := "api: {base_url: https://api.example.com, token: '${TOKEN_OF_THE_NIGHT}'}\nwarehouse: {dir: warehouse, threads: 1}\n"
	harness.Must(t, os.WriteFile(a.config, []byte(text), 0o600))
	t.Run("command lines of the guide", a.testGuideCommands)
	t.Run("rejected queries", a.testRejections)
	t.Run("closed input", a.testClosedInput)
}

// testGuideCommands runs each command line of the guide.
func (a mcpProgram) testGuideCommands(t *testing.T) {
	lines := guideCommandLines(t)
	if len(lines) != 4 {
		t.Fatalf("the guide shows %d command lines, want 4: %q", len(lines), lines)
	}
	for i, line := range lines {
		t.Run(fmt.Sprint(i+1), func(t *testing.T) {
			if line[0] == "ssh" {
				line = line[2:] // without "ssh" and the host
			}
			if line[0] != "/usr/local/bin/placementsync" || len(line) < 4 || line[len(line)-2] != "--config" {
				t.Fatalf("the command line is %q, want the program with --config", line)
			}
			line[len(line)-1] = a.config
			session := a.connect(t, line[1:])
			got, err := session.CallTool(t.Context(), &sdk.CallToolParams{Name: "run_query", Arguments: map[string]any{"name": "headline"}})
			harness.Must(t, err)
			text := got.Content[0].(*sdk.TextContent).Text
			if got.IsError || !strings.Contains(text, `["listings",80,`) {
				t.Errorf("the query \"headline\" returned %s, want 80 listings", text)
			}
			if !strings.Contains(text, `"grades":[{"table":`) || !strings.Contains(text, `{"table":"campaigns","standing":"proven",`) {
				t.Errorf("the query \"headline\" returned %s, want the grades of its tables", text)
			}
			if err := session.Close(); err != nil {
				t.Errorf("the program ended with %v after the end of its input, want no error", err)
			}
		})
	}
}

// guideCommandLines returns the command lines of docs/guide/assistants.md.
func guideCommandLines(t *testing.T) [][]string {
	t.Helper()
	page := read(t, "../../docs/guide/assistants.md")
	var lines [][]string
	for _, m := range regexp.MustCompile("(?s)```json\n(.*?)```").FindAllStringSubmatch(page, -1) {
		var file map[string]map[string]struct {
			Type, Command string
			Args          []string
		}
		if err := json.Unmarshal([]byte(m[1]), &file); err != nil {
			t.Fatalf("parse a configuration of the guide: %v: %s", err, m[1])
		}
		for _, servers := range file {
			for _, s := range servers {
				lines = append(lines, append([]string{s.Command}, s.Args...))
			}
		}
	}
	for _, m := range regexp.MustCompile(`(?m)^claude mcp add placementsync -- (.+)$`).FindAllStringSubmatch(page, -1) {
		lines = append(lines, strings.Fields(m[1]))
	}
	for _, m := range regexp.MustCompile("`\"command\": (\"ssh\")` with `\"args\": (\\[.+?\\])`").FindAllStringSubmatch(page, -1) {
		var args []string
		harness.Must(t, json.Unmarshal([]byte(m[2]), &args))
		lines = append(lines, append([]string{"ssh"}, args...))
	}
	return lines
}

// testRejections sends a query that the sandbox rejects, and an endless query. Without a published night, a query must
// return an error. The tests of the packages query and mcp send further queries.
func (a mcpProgram) testRejections(t *testing.T) {
	session := a.connect(t, []string{"mcp", "--timeout", "200ms", "--config", a.config})
	for sql, want := range map[string]string{
		"COPY orders TO '" + filepath.Join(t.TempDir(), "x") + "'":                                 "the SQL is refused: it uses files",
		"WITH RECURSIVE t AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM t) SELECT count(*) FROM t": "stopped after 200ms",
	} {
		got, err := session.CallTool(t.Context(), &sdk.CallToolParams{Name: "sql", Arguments: map[string]any{"sql": sql}})
		harness.Must(t, err)
		if text := got.Content[0].(*sdk.TextContent).Text; !got.IsError || !strings.Contains(text, want) {
			t.Errorf("%s: got %s, want an error with %q", sql, text, want)
		}
	}
	harness.Must(t, session.Close())

	configWithoutNight := filepath.Join(t.TempDir(), "config.yaml")
	harness.Must(t, os.WriteFile(configWithoutNight, []byte("api: {base_url: https://api.example.com, token: x}\n"), 0o600))
	session = a.connect(t, []string{"mcp", "--config", configWithoutNight})
	got, err := session.CallTool(t.Context(), &sdk.CallToolParams{Name: "sql", Arguments: map[string]any{"sql": "SELECT 1"}})
	harness.Must(t, err)
	if text := got.Content[0].(*sdk.TextContent).Text; !got.IsError || !strings.Contains(text, "contains no warehouse") {
		t.Errorf("without a night, the tool \"sql\" returned %s, want an error", text)
	}
	harness.Must(t, session.Close())
}

// testClosedInput sends an endless query and closes the input. The program must send the
// response and then end. Standard output must contain only messages of the protocol, one per line.
func (a mcpProgram) testClosedInput(t *testing.T) {
	cmd := exec.CommandContext(t.Context(), "placementsync", "mcp", "--timeout", "200ms", "--config", a.config)
	cmd.Stderr = os.Stderr
	cmd.Stdin = strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}
{"jsonrpc":"2.0","method":"notifications/initialized"}
{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"sql","arguments":{"sql":"WITH RECURSIVE t AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM t) SELECT count(*) FROM t"}}}
`)
	began := time.Now()
	output, err := cmd.Output()
	if took := time.Since(began); err != nil || took > 7*time.Second {
		t.Errorf("the program ended with %v after %s, want no error after at most 7s", err, took)
	}
	lines := strings.Split(strings.TrimSuffix(string(output), "\n"), "\n")
	for _, line := range lines {
		var message struct {
			JSONRPC string `json:"jsonrpc"`
		}
		if err := json.Unmarshal([]byte(line), &message); err != nil || message.JSONRPC != "2.0" {
			t.Errorf("the line is not a message of the protocol: %s", line)
		}
	}
	if len(lines) != 2 || !strings.Contains(lines[0], `"name":"placementsync"`) || !strings.Contains(lines[1], "stopped after 200ms") {
		t.Errorf("the responses are %q, want the name of the server, and that the query was stopped", lines)
	}
}

// TestAssistantEndsTheProgram ends the input at the beginning.
func TestAssistantEndsTheProgram(t *testing.T) {
	t.Parallel()
	g := newLoggingGlobals(t, io.Discard, io.Discard, "")
	harness.Must(t, runMCP(t.Context(), g, 0))
}

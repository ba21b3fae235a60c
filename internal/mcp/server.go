// Package mcp lets assistants query a warehouse with the Model Context Protocol: named queries,
// SQL in the sandbox, the data dictionary, grades and snapshots. Reading order: Config and Run in
// this file, tools.go, result.go, schema.go.
//
// The package must not know the path of the warehouse or the configuration of the program: a Warehouse opens
// snapshots and lists the queries.
package mcp

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"placementsync/internal/query"
)

// Config configures a server.
type Config struct {
	Warehouse
	// Timeout limits the time of each query. Zero means no limit.
	Timeout time.Duration
	// Drain limits the time of running calls after the end of the input.
	Drain time.Duration
	// Child is the command of the process that runs SQL of assistants and of the user, see [query.Job].
	Child   []string
	Version string
	Now     func() time.Time
	Log     *slog.Logger
}

// Warehouse opens snapshots and lists queries.
type Warehouse interface {
	// Open opens the newest or an earlier snapshot, or the held night. It is called for each query,
	// so that a query after a night reads the snapshot of that night.
	Open(ctx context.Context, opts query.Options, held bool) (*query.DB, error)
	// Queries loads the built-in and the user's named queries.
	Queries() (query.Library, error)
	// Explain adds the cause, such as a damaged file, to an error of a query.
	Explain(err error) error
}

//go:embed instructions.txt
var instructions string

type server struct {
	cfg Config
	// turn is a mutex: only one query runs at a time, because each query may use the whole memory
	// limit, and a client may send many calls concurrently.
	turn chan struct{}
}

// Run serves a client over in and out. It returns when the input has ended and all calls have responses, or when ctx
// ends. A line that is not a message, or is longer than sdk.DefaultMaxLineLength, ends the session with an error.
func Run(ctx context.Context, cfg Config, in io.ReadCloser, out io.WriteCloser) error {
	return serve(ctx, cfg, drainTransport{&sdk.IOTransport{Reader: in, Writer: out}, cfg.Drain})
}

func serve(ctx context.Context, cfg Config, transport sdk.Transport) error {
	s := &server{cfg: cfg, turn: make(chan struct{}, 1)}
	sdkServer := sdk.NewServer(&sdk.Implementation{Name: "placementsync", Title: "Placementsync", Version: cfg.Version},
		&sdk.ServerOptions{Instructions: instructions, Logger: cfg.Log, Capabilities: &sdk.ServerCapabilities{Tools: &sdk.ToolCapabilities{}}})
	no := false
	for _, t := range s.tools() { // all tools are read-only and access only the warehouse
		schema := map[string]any{"type": "object", "properties": t.arguments, "additionalProperties": false}
		if len(t.required) > 0 {
			schema["required"] = t.required
		}
		sdkServer.AddTool(&sdk.Tool{Name: t.name, Title: t.title, Description: t.about, InputSchema: schema,
			Annotations: &sdk.ToolAnnotations{Title: t.title, ReadOnlyHint: true, IdempotentHint: true, DestructiveHint: &no, OpenWorldHint: &no}}, t.handle)
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop() // cancels calls that are still running
	err := sdkServer.Run(ctx, transport)
	if errors.Is(err, io.EOF) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("serve the client: %w", err)
	}
	return nil
}

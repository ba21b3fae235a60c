// Package mcp lets assistants ask a warehouse, by the Model Context Protocol: named
// queries, SQL in the sandbox, the dictionary, grades and snapshots. Reading order:
// Config and Run in this file, then tools, answer and schema.
//
// It must not know the format of the configuration or the path of the warehouse: a Warehouse
// opens the newest snapshot and lists the queries.
package mcp

import (
	"context"
	_ "embed"
	"errors"
	"io"
	"log/slog"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"placementsync/internal/query"
)

// Config is what a server needs.
type Config struct {
	Warehouse
	// Timeout bounds each query. Zero means no bound.
	Timeout time.Duration
	// Drain bounds how long calls that were received may run after the input ended.
	Drain   time.Duration
	Version string
	Now     func() time.Time
	Log     *slog.Logger
}

// Warehouse is asked by the tools.
type Warehouse interface {
	// Open opens the newest snapshot, or an earlier one. Each call of a tool opens it
	// anew, so that the first call after a night sees that night.
	Open(ctx context.Context, opts query.Options) (*query.DB, error)
	// Queries loads the named queries, own ones too.
	Queries() (query.Library, error)
	// Explain finds the reason behind an error of a query, such as a damaged file.
	Explain(err error) error
}

//go:embed instructions.txt
var instructions string

// server answers the calls of one client.
type server struct {
	cfg Config
	// turn is held by the call that is asking the database: each has the memory of a
	// query, and a client may send many at once.
	turn chan struct{}
}

// Run serves the client that writes to in and reads from out, until in ends and its calls
// are answered, or ctx ends.
func Run(ctx context.Context, cfg Config, in io.ReadCloser, out io.WriteCloser) error {
	return Serve(ctx, cfg, &lineTransport{in: in, out: out, drain: cfg.Drain})
}

// Serve is Run over any transport.
func Serve(ctx context.Context, cfg Config, transport sdk.Transport) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop() // a call that is still asking has nobody to answer
	err := newServer(cfg).Run(ctx, transport)
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

func newServer(cfg Config) *sdk.Server {
	s := &server{cfg: cfg, turn: make(chan struct{}, 1)}
	made := sdk.NewServer(&sdk.Implementation{Name: "placementsync", Title: "Placementsync", Version: cfg.Version},
		&sdk.ServerOptions{Instructions: instructions, Logger: cfg.Log, Capabilities: &sdk.ServerCapabilities{Tools: &sdk.ToolCapabilities{}}})
	for _, t := range s.tools() {
		made.AddTool(t.describe(), t.handle)
	}
	return made
}

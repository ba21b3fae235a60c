package mcp

import (
	"context"
	"errors"
	"io"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// drainTransport is the SDK's transport, but at the end of the input it waits for running calls, which the SDK
// would cancel. drain limits this wait.
type drainTransport struct {
	sdk.Transport
	drain time.Duration
}

func (t drainTransport) Connect(ctx context.Context) (sdk.Connection, error) {
	conn, err := t.Transport.Connect(ctx)
	return &drainConn{Connection: conn, drain: t.drain, written: make(chan struct{}, 1)}, err
}

type drainConn struct {
	sdk.Connection
	drain   time.Duration
	running atomic.Int64  // calls without a response
	written chan struct{} // gets a value after a response
}

func (c *drainConn) Read(ctx context.Context) (jsonrpc.Message, error) {
	message, err := c.Connection.Read(ctx)
	if call, ok := message.(*jsonrpc.Request); ok && call.IsCall() {
		c.running.Add(1)
	}
	if errors.Is(err, io.EOF) {
		c.waitForCalls(ctx)
	}
	return message, err
}

func (c *drainConn) waitForCalls(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, c.drain)
	defer cancel()
	for c.running.Load() > 0 && ctx.Err() == nil {
		select {
		case <-c.written:
		case <-ctx.Done():
		}
	}
}

func (c *drainConn) Write(ctx context.Context, message jsonrpc.Message) error {
	err := c.Connection.Write(ctx, message)
	if _, ok := message.(*jsonrpc.Response); ok {
		c.running.Add(-1)
		select {
		case c.written <- struct{}{}:
		default: // the channel has a value
		}
	}
	return err
}

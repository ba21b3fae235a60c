package mcp

import (
	"context"
	"errors"
	"io"
	"math"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"golang.org/x/sync/semaphore"
)

// drainTransport is the SDK's transport, but at the end of the input it waits for running calls, which the SDK
// would cancel. drain limits this wait.
type drainTransport struct {
	sdk.Transport
	drain time.Duration
}

func (t drainTransport) Connect(ctx context.Context) (sdk.Connection, error) {
	conn, err := t.Transport.Connect(ctx)
	return drainConn{conn, t.drain, semaphore.NewWeighted(math.MaxInt64)}, err
}

type drainConn struct {
	sdk.Connection
	drain   time.Duration
	running *semaphore.Weighted // each call without a response holds 1
}

func (c drainConn) Read(ctx context.Context) (jsonrpc.Message, error) {
	message, err := c.Connection.Read(ctx)
	if call, ok := message.(*jsonrpc.Request); ok && call.IsCall() {
		c.running.TryAcquire(1)
	}
	if errors.Is(err, io.EOF) {
		drainCtx, cancel := context.WithTimeout(ctx, c.drain)
		defer cancel()
		_ = c.running.Acquire(drainCtx, math.MaxInt64) // an error means that a call is still running
	}
	return message, err
}

func (c drainConn) Write(ctx context.Context, message jsonrpc.Message) error {
	err := c.Connection.Write(ctx, message)
	if _, ok := message.(*jsonrpc.Response); ok {
		c.running.Release(1)
	}
	return err
}

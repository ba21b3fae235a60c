package mcp

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// maxLine is the maximum length of a message in bytes. A longer message ends the session.
const maxLine = 16 << 20

// lineTransport is the SDK's transport over standard input and output, with two differences. After
// an invalid message, the SDK ends the session, but lineTransport responds with a JSON-RPC error and
// continues. At the end of the input, the SDK cancels running calls, but lineTransport waits for
// them.
type lineTransport struct {
	in  io.ReadCloser
	out io.WriteCloser
	// drain limits the time of running calls after the end of the input.
	drain time.Duration
}

func (t lineTransport) Connect(ctx context.Context) (sdk.Connection, error) {
	pipeReader, pipeWriter := io.Pipe()
	out := &lockedWriter{WriteCloser: t.out}
	conn, err := (&sdk.IOTransport{Reader: pipeReader, Writer: out, MaxLineLength: -1}).Connect(ctx)
	if err != nil {
		return nil, err
	}
	c := &lineConn{Connection: conn, out: out, drain: t.drain, written: make(chan struct{}, 1)}
	go c.copyLines(pipeWriter, t.in)
	return c, nil
}

// lockedWriter lets lineConn and the SDK write to the same output. Each writes a message by one call.
type lockedWriter struct {
	io.WriteCloser
	lock sync.Mutex
}

func (w *lockedWriter) Write(p []byte) (int, error) {
	w.lock.Lock()
	defer w.lock.Unlock()
	return w.WriteCloser.Write(p)
}

type lineConn struct {
	sdk.Connection
	out     io.Writer
	drain   time.Duration
	running atomic.Int64  // calls without a response
	written chan struct{} // gets a value after a response
}

// inputError is an I/O error of the input, which ends the session.
type inputError struct{ error }

func (e inputError) Unwrap() error { return e.error }

// copyLines copies the lines that are valid JSON. It skips empty lines, and responds to all others with an
// error.
func (c *lineConn) copyLines(to *io.PipeWriter, from io.Reader) {
	lines := bufio.NewScanner(from)
	lines.Buffer(nil, maxLine)
	var err error
	for err == nil && lines.Scan() {
		line := bytes.TrimSpace(lines.Bytes())
		switch {
		case len(line) == 0:
		case json.Valid(line):
			_, err = to.Write(append(line, '\n'))
		default:
			err = c.sendError(jsonrpc.CodeParseError, "the line is not valid JSON: write each message as one line of JSON")
		}
	}
	if err = errors.Join(err, lines.Err()); err != nil {
		err = inputError{err}
	}
	to.CloseWithError(err) // nil means io.EOF
}

// sendError responds to an invalid message, whose id is unknown. JSON-RPC then requires "id": null,
// which the SDK does not write.
func (c *lineConn) sendError(code int64, text string) error {
	line, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": nil, "error": jsonrpc.Error{Code: code, Message: text}})
	if err == nil {
		_, err = c.out.Write(append(line, '\n'))
	}
	return err
}

func (c *lineConn) Read(ctx context.Context) (jsonrpc.Message, error) {
	for {
		message, err := c.Connection.Read(ctx)
		switch {
		case err == nil:
			if call, ok := message.(*jsonrpc.Request); ok && call.IsCall() {
				c.running.Add(1)
			}
			return message, nil
		case errors.Is(err, io.EOF):
			timeout := time.After(c.drain)
			for c.running.Load() > 0 {
				select {
				case <-c.written:
				case <-timeout:
					return nil, err
				case <-ctx.Done():
					return nil, err
				}
			}
			return nil, err
		case ctx.Err() != nil || errors.As(err, new(inputError)):
			return nil, err
		}
		if err := c.sendError(jsonrpc.CodeInvalidRequest, err.Error()); err != nil {
			return nil, err
		}
	}
}

func (c *lineConn) Write(ctx context.Context, message jsonrpc.Message) error {
	err := c.Connection.Write(ctx, message)
	if _, ok := message.(*jsonrpc.Response); ok {
		c.running.Add(-1)
		select {
		case c.written <- struct{}{}:
		default:
		}
	}
	return err
}

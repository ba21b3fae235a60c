package mcp

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// maxLine is the maximum length of a message in bytes.
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

func (t *lineTransport) Connect(ctx context.Context) (sdk.Connection, error) {
	out := &lockedWriter{WriteCloser: t.out}
	lines := &lineReader{ReadCloser: t.in, lines: bufio.NewReader(t.in), out: out}
	conn, err := (&sdk.IOTransport{Reader: lines, Writer: out, MaxLineLength: -1}).Connect(ctx)
	if err != nil {
		return nil, err
	}
	return &lineConn{Connection: conn, out: out, drain: t.drain, open: map[jsonrpc.ID]bool{}, closed: make(chan struct{})}, nil
}

// lockedWriter is the output. The session and lineReader write lines to it, one at a time.
type lockedWriter struct {
	io.WriteCloser
	lock sync.Mutex
}

func (w *lockedWriter) Write(p []byte) (int, error) {
	w.lock.Lock()
	defer w.lock.Unlock()
	return w.WriteCloser.Write(p)
}

// sendError responds to an invalid message, whose id is unknown.
func (w *lockedWriter) sendError(code int, text string) error {
	line, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": nil, "error": map[string]any{"code": code, "message": text}})
	if err != nil {
		return err
	}
	_, err = w.Write(append(line, '\n'))
	return err
}

// inputError is an I/O error of the input or the output, which ends the session.
type inputError struct{ error }

func (e inputError) Unwrap() error { return e.error }

// lineReader returns the lines that are valid JSON. It responds to other lines with an error.
type lineReader struct {
	io.ReadCloser
	lines *bufio.Reader
	out   *lockedWriter
	rest  []byte // the part of the last line that Read has not returned yet
}

func (r *lineReader) Read(p []byte) (int, error) {
	for len(r.rest) == 0 {
		line, err := r.readLine()
		switch {
		case len(line) == 0 && errors.Is(err, io.EOF):
			return 0, io.EOF
		case len(line) == 0:
		case len(line) > maxLine:
			err = r.out.sendError(jsonrpc.CodeInvalidRequest, fmt.Sprintf("the message is longer than %d bytes", maxLine))
		case !json.Valid(line):
			err = r.out.sendError(jsonrpc.CodeParseError, "the line is not valid JSON: write each message as one line of JSON")
		default:
			r.rest, err = append(line, '\n'), nil
		}
		if err != nil {
			return 0, inputError{err}
		}
	}
	n := copy(p, r.rest)
	r.rest = r.rest[n:]
	return n, nil
}

// readLine reads a line and trims spaces. If the line is too long, it returns its beginning, which
// is longer than maxLine bytes, and discards the rest.
func (r *lineReader) readLine() ([]byte, error) {
	var line []byte
	for {
		part, err := r.lines.ReadSlice('\n')
		if len(line) <= maxLine {
			line = append(line, part...)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return bytes.TrimSpace(line), err
		}
	}
}

// lineConn is a connection that waits for running calls at the end of the input.
type lineConn struct {
	sdk.Connection
	out    *lockedWriter
	drain  time.Duration
	close  sync.Once
	closed chan struct{}

	lock     sync.Mutex          // guards open and answered
	open     map[jsonrpc.ID]bool // running calls
	answered chan struct{}       // nil until the input ends; closed when open is empty
}

func (c *lineConn) Read(ctx context.Context) (jsonrpc.Message, error) {
	for {
		message, err := c.Connection.Read(ctx)
		switch {
		case errors.Is(err, io.EOF):
			c.finish(ctx)
			return nil, err
		case err != nil && (ctx.Err() != nil || errors.As(err, new(inputError))):
			return nil, err
		case err != nil:
			if err := c.out.sendError(jsonrpc.CodeInvalidRequest, err.Error()); err != nil {
				return nil, err
			}
			continue
		}
		if call, ok := message.(*jsonrpc.Request); ok && call.IsCall() {
			c.lock.Lock()
			c.open[call.ID] = true
			c.lock.Unlock()
		}
		return message, nil
	}
}

// finish waits for running calls, but no longer than c.drain.
func (c *lineConn) finish(ctx context.Context) {
	c.lock.Lock()
	c.answered = make(chan struct{})
	if len(c.open) == 0 {
		close(c.answered)
	}
	answered := c.answered
	c.lock.Unlock()
	timeout := time.NewTimer(c.drain)
	defer timeout.Stop()
	select {
	case <-answered:
	case <-timeout.C:
	case <-ctx.Done():
	case <-c.closed:
	}
}

func (c *lineConn) Write(ctx context.Context, message jsonrpc.Message) error {
	err := c.Connection.Write(ctx, message)
	if response, ok := message.(*jsonrpc.Response); ok {
		c.lock.Lock()
		defer c.lock.Unlock()
		if c.open[response.ID] {
			delete(c.open, response.ID)
			if len(c.open) == 0 && c.answered != nil {
				close(c.answered)
			}
		}
	}
	return err
}

func (c *lineConn) Close() error {
	c.close.Do(func() { close(c.closed) })
	return c.Connection.Close()
}

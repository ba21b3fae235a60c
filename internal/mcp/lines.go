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

// maxLine is how long a message may be.
const maxLine = 16 << 20

// lineTransport is the SDK's transport over standard input and output, with two
// differences. The SDK ends the session at the first line that is no message; here the line
// is answered with an error of JSON-RPC. The SDK drops calls that are running when the
// input ends; here they are answered first.
type lineTransport struct {
	in  io.ReadCloser
	out io.WriteCloser
	// drain bounds how long the calls that were received may run after the input ended.
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

// lockedWriter writes whole lines, which come from the session and from lineReader.
type lockedWriter struct {
	io.WriteCloser
	lock sync.Mutex
}

func (w *lockedWriter) Write(p []byte) (int, error) {
	w.lock.Lock()
	defer w.lock.Unlock()
	return w.WriteCloser.Write(p)
}

// refuse answers a line that is no message. It has no id that the answer could name.
func (w *lockedWriter) refuse(code int, text string) error {
	type fault struct {
		Code    int    `json:"code"`
		Message string `json:"message"`
	}
	line, err := json.Marshal(struct {
		Version string `json:"jsonrpc"`
		ID      any    `json:"id"`
		Error   fault  `json:"error"`
	}{"2.0", nil, fault{code, text}})
	if err != nil {
		return err
	}
	_, err = w.Write(append(line, '\n'))
	return err
}

// inputError is an error of reading or refusing, after which there are no more lines.
type inputError struct{ error }

func (e inputError) Unwrap() error { return e.error }

// lineReader passes on the lines that are JSON.
type lineReader struct {
	io.ReadCloser
	lines *bufio.Reader
	out   *lockedWriter
	rest  []byte
}

func (r *lineReader) Read(p []byte) (int, error) {
	for len(r.rest) == 0 {
		line, err := r.readLine()
		switch {
		case len(line) == 0 && errors.Is(err, io.EOF):
			return 0, io.EOF
		case len(line) == 0:
		case len(line) > maxLine:
			err = r.out.refuse(jsonrpc.CodeInvalidRequest, fmt.Sprintf("a message is one line of at most %d bytes", maxLine))
		case !json.Valid(line):
			err = r.out.refuse(jsonrpc.CodeParseError, "a message is one line of JSON, and this line is not JSON")
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

// readLine reads a line without the space around it. Of a line that is too long it keeps
// more than maxLine bytes and drops the rest.
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

// lineConn is a connection that answers the calls that it has read before it ends.
type lineConn struct {
	sdk.Connection
	out    *lockedWriter
	drain  time.Duration
	close  sync.Once
	closed chan struct{}

	lock     sync.Mutex          // guards open and answered
	open     map[jsonrpc.ID]bool // calls without an answer
	answered chan struct{}       // closed when open is empty; nil before the input ended
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
			if err := c.out.refuse(jsonrpc.CodeInvalidRequest, err.Error()); err != nil {
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

// finish waits until all calls are answered.
func (c *lineConn) finish(ctx context.Context) {
	c.lock.Lock()
	c.answered = make(chan struct{})
	if len(c.open) == 0 {
		close(c.answered)
	}
	answered := c.answered
	c.lock.Unlock()
	late := time.NewTimer(c.drain)
	defer late.Stop()
	select {
	case <-answered:
	case <-late.C:
	case <-ctx.Done():
	case <-c.closed:
	}
}

func (c *lineConn) Write(ctx context.Context, message jsonrpc.Message) error {
	err := c.Connection.Write(ctx, message)
	if answer, ok := message.(*jsonrpc.Response); ok {
		c.lock.Lock()
		defer c.lock.Unlock()
		if c.open[answer.ID] {
			delete(c.open, answer.ID)
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

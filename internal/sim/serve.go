package sim

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/klauspost/compress/zstd"
)

// ServeHTTP handles a request. Methods other than GET get a 405. For a GET it applies faults, checks the token
// and the scopes, and calls the endpoint.
func (s *Service) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	if r.Context().Err() != nil {
		return
	}
	rt, id := s.findRoute(r.URL.Path)
	fault := s.faults.chooseFault(s.opts.FaultFunc, r, rt)
	out := s.respond(r, rt, id, fault)
	out = s.compress(out, r.Header.Values("Accept-Encoding"))
	request := Request{Method: r.Method, Path: r.URL.RequestURI(), Status: out.status}
	if rt != nil {
		request.Route = rt.pattern
	}
	s.logMu.Lock()
	s.log = append(s.log, request)
	s.logMu.Unlock()
	out.send(rw, r)
}

func (s *Service) respond(r *http.Request, rt *route, id string, fault *Fault) reply {
	if r.Method != http.MethodGet {
		return errorReply(http.StatusMethodNotAllowed, "this service is read only")
	}
	if fault == nil {
		fault = &Fault{} // its kind, FaultStatus, has no effect from here on
	} else if out, ok := fault.replacement(); ok {
		return out
	}
	out, isRejected := s.rejectRequest(r, rt)
	if !isRejected {
		out = s.renderReply(r.URL.Query(), rt, id, fault)
		if rt.whole != nil {
			s.mu.Lock()
			s.world.churn(rt.whole)
			s.mu.Unlock()
		}
	}
	return fault.applyTo(out)
}

func (s *Service) rejectRequest(r *http.Request, rt *route) (rejection reply, isRejected bool) {
	switch token := s.opts.Token; {
	case !strings.HasPrefix(token, "pc_") || r.Header.Get("Authorization") != "Bearer "+token:
		return errorReply(http.StatusUnauthorized, "missing or invalid token"), true
	case rt == nil:
		return errorReply(http.StatusNotFound, "no such endpoint"), true
	case s.opts.TokenType == "full_access": // needs no scope (spec section 5)
	case rt.needsFullAccess:
		return errorReply(http.StatusForbidden, "token is not of type full_access"), true
	case slices.ContainsFunc(rt.scopes, func(scope string) bool { return !slices.Contains(s.opts.Scopes, scope) }):
		return errorReply(http.StatusForbidden, "token lacks scope "+strings.Join(rt.scopes, " and ")), true
	}
	return reply{}, false
}

// renderReply renders the response of an endpoint while the world is locked. The response is sent
// later, so that slow clients do not block the world.
func (s *Service) renderReply(query url.Values, rt *route, id string, fault *Fault) reply {
	s.mu.RLock()
	defer s.mu.RUnlock()
	e := &enc{seed: s.world.seed, words: s.world.words, realistic: s.opts.Realistic, fullOutlets: slices.Contains([]string{"true", "1"}, query.Get("include_outlets_data"))}
	n, ok := s.world.recordInPath(rt, id)
	if !ok {
		return errorReply(http.StatusNotFound, "no such record")
	}
	if !rt.isList() {
		rt.render(e, n)
	} else if err := rt.writeList(e, rt.viewOf(n), query, fault, s.opts.Sorts); err != nil {
		return errorReply(http.StatusBadRequest, err.Error())
	}
	mime := jsonMime
	if rt.binary {
		mime = "application/octet-stream"
	}
	return newReply(http.StatusOK, mime, s.world.applyValueFaults(e.document(), rt))
}

// Serve listens on a free port of the loopback address until stop is called. stop waits up to 5 seconds for
// requests in flight.
func (s *Service) Serve() (baseURL string, stop func() error, err error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, err
	}
	server := &http.Server{Handler: s, ReadHeaderTimeout: 10 * time.Second}
	done := make(chan error, 1)
	go func() { done <- server.Serve(listener) }()
	return "http://" + listener.Addr().String(), func() error {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		if err := server.Shutdown(ctx); err != nil {
			return errors.Join(fmt.Errorf("stop the demo service: %w", err), server.Close())
		}
		if err := <-done; !errors.Is(err, http.ErrServerClosed) {
			return fmt.Errorf("serve the demo service: %w", err)
		}
		return nil
	}, nil
}

const jsonMime = "application/json"

type reply struct {
	status int
	header http.Header
	body   []byte
	fault  Fault // how the reply is cut off or slowed down
}

func newReply(status int, mime string, body []byte) reply {
	return reply{status: status, header: http.Header{"Content-Type": {mime}}, body: body}
}

// errorReply returns an error response, whose body the spec does not show.
func errorReply(status int, message string) reply {
	return newReply(status, jsonMime, fmt.Appendf(nil, `{"error":{"status":%d,"message":%q}}`, status, message))
}

func (out reply) send(rw http.ResponseWriter, r *http.Request) {
	if out.fault.Kind == FaultReset {
		resetConnection(rw)
		return
	}
	maps.Copy(rw.Header(), out.header)
	rw.Header().Set("Content-Length", strconv.Itoa(len(out.body)))
	rw.WriteHeader(out.status)
	switch out.fault.Kind {
	case FaultResetBody, FaultTruncate:
		// After fewer bytes than Content-Length, net/http closes the connection.
		_, _ = rw.Write(out.body[:len(out.body)/2])
		_ = http.NewResponseController(rw).Flush()
		if out.fault.Kind == FaultResetBody {
			resetConnection(rw)
		}
	case FaultSlow:
		const parts = 8
		for i := range parts {
			part := out.body[len(out.body)*i/parts : len(out.body)*(i+1)/parts]
			select {
			case <-time.After(out.fault.Delay):
			case <-r.Context().Done():
				return
			}
			if _, err := rw.Write(part); err != nil {
				return
			}
			_ = http.NewResponseController(rw).Flush()
		}
	default:
		// An error means that the client has disconnected.
		_, _ = rw.Write(out.body)
	}
}

// resetConnection closes the connection with a TCP reset.
func resetConnection(rw http.ResponseWriter) {
	conn, _, err := http.NewResponseController(rw).Hijack()
	if err != nil {
		// HTTP/2 and test recorders cannot be hijacked: abort the request.
		panic(http.ErrAbortHandler)
	}
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	_ = conn.Close()
}

func newZstdEncoder() *zstd.Encoder {
	encoder, _ := zstd.NewWriter(nil) // fails only with invalid options
	// The first EncodeAll creates channels that later calls use. They must not belong to the
	// synctest bubble of a later caller.
	encoder.EncodeAll([]byte{0}, nil)
	return encoder
}

// compress uses the first configured encoding that the request accepts.
func (s *Service) compress(out reply, acceptHeaders []string) reply {
	i := slices.IndexFunc(s.opts.Encodings, func(encoding string) bool {
		return slices.ContainsFunc(acceptHeaders, func(header string) bool { return accepts(header, encoding) })
	})
	if i < 0 || len(out.body) < 256 { // most servers have a similar threshold
		return out
	}
	out.header.Set("Content-Encoding", s.opts.Encodings[i])
	if s.opts.Encodings[i] == "zstd" {
		out.body = s.zstd.EncodeAll(out.body, nil)
		return out
	}
	var compressed bytes.Buffer
	w := gzip.NewWriter(&compressed)
	_, _ = w.Write(out.body) // a buffer accepts all writes
	_ = w.Close()
	out.body = compressed.Bytes()
	return out
}

// accepts ignores weights.
func accepts(header, encoding string) bool {
	for part := range strings.SplitSeq(header, ",") {
		name, _, _ := strings.Cut(part, ";")
		if strings.EqualFold(strings.TrimSpace(name), encoding) {
			return true
		}
	}
	return false
}

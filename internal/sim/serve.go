package sim

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// ServeHTTP handles a request. Methods other than GET get a 405. For a GET it applies faults and the
// rate limit, checks the token and the scopes, and calls the endpoint.
func (s *Service) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	if r.Context().Err() != nil {
		return
	}
	rt, id := s.findRoute(r.URL.Path)
	fault := s.faults.chooseFault(s.opts, r, rt)
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
	if retry, isLimited := s.checkRateLimit(); isLimited {
		out := errorReply(http.StatusTooManyRequests, "slow down")
		out.header.Set("Retry-After", retry)
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

// checkRateLimit counts an accepted request. It returns the waiting time of a rejected one in whole
// seconds.
func (s *Service) checkRateLimit() (retryAfter string, isLimited bool) {
	if s.limiter == nil {
		return "", false
	}
	now := time.Now()
	reservation := s.limiter.ReserveN(now, 1)
	delay := reservation.DelayFrom(now)
	if delay <= 0 {
		return "", false
	}
	reservation.CancelAt(now)
	return strconv.Itoa(int(math.Ceil(delay.Seconds()))), true
}

func (s *Service) rejectRequest(r *http.Request, rt *route) (reply, bool) {
	s.mu.RLock()
	token := s.token
	s.mu.RUnlock()
	switch {
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
	} else if err := rt.writeList(e, rt.viewOf(n), query, fault, s.opts); err != nil {
		return errorReply(http.StatusBadRequest, err.Error())
	}
	mime := jsonMime
	if rt.binary {
		mime = "application/octet-stream"
	}
	return newReply(http.StatusOK, mime, s.world.distort(e.document(), rt))
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

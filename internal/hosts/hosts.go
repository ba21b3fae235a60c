// Package hosts refuses requests that name a host which a server was not set up
// for. A page of a stranger can give its own name the address of this machine (DNS
// rebinding): the browser then lets that page read what a server on loopback answers.
// The Host header still has the stranger's name, so the server can tell.
//
// It must not know what the server answers or how the configuration is written.
package hosts

import (
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"sync/atomic"
	"time"
)

// List is the hosts that requests may name. The zero value has the ones that are
// always allowed, see [List.Allows].
type List struct{ names []string }

// New returns a list of the host of a listen address (host:port) and of more names.
func New(listen string, names []string) List {
	l := List{names: []string{nameOf(listen)}}
	for _, name := range names {
		l.names = append(l.names, nameOf(name))
	}
	return l
}

// Allows reports whether a Host header, with or without port, may be answered.
//
// An IP address always may, also where the server listens on all interfaces:
// rebinding needs a name, since a page at an address came from that very address.
// Probes and Prometheus ask by address. A request without a host comes from a
// program, since browsers always send one. Of the names only localhost is known
// to be this machine's. Any other has to be listed, also that of the machine:
// whoever answers for a name in DNS decides what it means.
func (l List) Allows(host string) bool {
	name := nameOf(host)
	if name == "" || name == "localhost" {
		return true
	}
	if _, err := netip.ParseAddr(name); err == nil {
		return true
	}
	return slices.Contains(l.names, name)
}

// nameOf is a host without port, brackets and the dot of the root, in lower case.
func nameOf(host string) string {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	} else {
		host = strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
	}
	return strings.ToLower(strings.TrimSuffix(host, "."))
}

// logsEvery bounds what strangers can write into the log.
const logsEvery = time.Minute

// Guard answers 421 to requests whose host the list does not allow, and logs one a
// minute: a proxy whose name is missing in the list must not fail in silence. list
// is called for each request, so that a reload applies.
func Guard(next http.Handler, list func() List, log *slog.Logger) http.Handler {
	var logged atomic.Int64
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if list().Allows(r.Host) {
			next.ServeHTTP(w, r)
			return
		}
		now := time.Now().UnixNano()
		if last := logged.Load(); (last == 0 || now-last > int64(logsEvery)) && logged.CompareAndSwap(last, now) {
			log.Warn("request refused, its host is neither an IP address nor in serve.hosts", "host", r.Host)
		}
		h := w.Header()
		h.Set("Content-Type", "text/plain; charset=utf-8")
		h.Set("X-Content-Type-Options", "nosniff")
		w.WriteHeader(http.StatusMisdirectedRequest)
		// An error means that the client has gone.
		_, _ = fmt.Fprintf(w, "this server does not answer for the host %q: use localhost or an IP address, or add the name to serve.hosts\n", nameOf(r.Host))
	})
}

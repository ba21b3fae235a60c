package daemon

import (
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"time"

	"golang.org/x/time/rate"
)

// HostList contains the names of allowed hosts, see [HostList.Allows].
type HostList struct{ names []string }

// NewHostList returns a list of the host in a listen address (host:port) and the given names.
func NewHostList(listen string, names []string) HostList {
	var l HostList
	for _, name := range append([]string{listen}, names...) {
		l.names = append(l.names, normalize(name))
	}
	return l
}

// Allows reports whether requests with this Host header, with or without port, are allowed.
//
// An attack by DNS rebinding needs a browser, which always sends a host, and needs a name whose DNS entry the
// attacker controls. So IP addresses, localhost and a missing host are always allowed. Every other name must
// be in the list, even the name of this machine, because others may control its DNS entry.
func (l HostList) Allows(host string) bool {
	name := normalize(host)
	if name == "" || name == "localhost" {
		return true
	}
	if _, err := netip.ParseAddr(name); err == nil {
		return true
	}
	return slices.Contains(l.names, name)
}

// normalize returns a host in lower case, without port, brackets and trailing dot.
func normalize(host string) string {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	} else {
		host = strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
	}
	return strings.ToLower(strings.TrimSuffix(host, "."))
}

// GuardHosts responds with status 421 to requests whose host the list does not allow. This protects
// against DNS rebinding, where the host name of a foreign web page resolves to the address of
// this machine. The browser would then allow the page to read the server's responses.
//
// At most one rejected request a minute is logged. GuardHosts calls list for each request, because a reload
// of the configuration can change the list.
func GuardHosts(next http.Handler, list func() HostList, log *slog.Logger) http.Handler {
	logLimit := rate.Sometimes{Interval: time.Minute}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if list().Allows(r.Host) {
			next.ServeHTTP(w, r)
			return
		}
		logLimit.Do(func() {
			log.Warn("request rejected: its host is neither an IP address nor in serve.hosts", "host", r.Host)
		})
		w.Header().Set("X-Content-Type-Options", "nosniff")
		writeText(w, http.StatusMisdirectedRequest,
			fmt.Sprintf("this server does not serve the host %q: use localhost or an IP address, or add the name to serve.hosts", normalize(r.Host)))
	})
}

package sim

import (
	"fmt"
	"maps"
	"net"
	"net/http"
	"strconv"
	"time"
)

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

package daemon

import (
	"fmt"
	"net"
	"strings"
)

// Notifier tells the service manager states as sd_notify does: a datagram to the
// socket that it named. It returns nil when socket is empty.
func Notifier(socket string) func(state string) error {
	if socket == "" {
		return nil
	}
	if strings.HasPrefix(socket, "@") {
		socket = "\x00" + socket[1:] // an abstract one
	}
	return func(state string) error {
		conn, err := net.DialUnix("unixgram", nil, &net.UnixAddr{Name: socket, Net: "unixgram"})
		if err != nil {
			return fmt.Errorf("reach the service manager: %w", err)
		}
		defer conn.Close()
		if _, err := conn.Write([]byte(state)); err != nil {
			return fmt.Errorf("tell the service manager: %w", err)
		}
		return nil
	}
}

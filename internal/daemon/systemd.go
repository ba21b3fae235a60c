package daemon

import (
	"fmt"
	"net"
	"strings"
)

// Notifier returns a function that sends states to the service manager. Each state is a
// datagram to socket, see sd_notify(3). Notifier returns nil if socket is empty.
func Notifier(socket string) func(state string) error {
	if socket == "" {
		return nil
	}
	if strings.HasPrefix(socket, "@") {
		socket = "\x00" + socket[1:] // an abstract socket
	}
	return func(state string) error {
		conn, err := net.DialUnix("unixgram", nil, &net.UnixAddr{Name: socket, Net: "unixgram"})
		if err != nil {
			return fmt.Errorf("reach the service manager: %w", err)
		}
		defer conn.Close()
		if _, err := conn.Write([]byte(state)); err != nil {
			return fmt.Errorf("notify the service manager: %w", err)
		}
		return nil
	}
}

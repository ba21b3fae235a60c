package daemon

import (
	"fmt"
	"net"
	"strings"
)

// Notifier returns a function that sends messages to the service manager, see sd_notify(3). It returns nil if
// socket is empty.
func Notifier(socket string) func(message string) error {
	if socket == "" {
		return nil
	}
	if strings.HasPrefix(socket, "@") {
		socket = "\x00" + socket[1:] // an abstract socket
	}
	return func(message string) error {
		conn, err := net.DialUnix("unixgram", nil, &net.UnixAddr{Name: socket, Net: "unixgram"})
		if err != nil {
			return fmt.Errorf("reach the service manager: %w", err)
		}
		defer conn.Close()
		if _, err := conn.Write([]byte(message)); err != nil {
			return fmt.Errorf("notify the service manager: %w", err)
		}
		return nil
	}
}

package command

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"placementsync/internal/warehouse"
)

// TestErrorsOfTheSystemComeWithAdvice meets real errors where the user of the test can.
func TestErrorsOfTheSystemComeWithAdvice(t *testing.T) {
	t.Parallel()
	first, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = first.Close() })
	_, inUse := net.Listen("tcp", first.Addr().String())
	_, elsewhere := net.Listen("tcp", "192.0.2.1:8080") // an address for documentation
	closed := filepath.Join(t.TempDir(), "closed")
	if err := os.Mkdir(closed, 0o000); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(closed, "lock")
	_, denied := os.Open(file)
	rights := "look at the rights of " + closed
	if os.Geteuid() == 0 { // whom nothing is denied
		denied = &fs.PathError{Op: "open", Path: file, Err: syscall.EACCES}
		if err := os.Chown(closed, 65534, 65534); err != nil {
			t.Fatal(err)
		}
		rights = closed + " belongs to "
	}
	for name, c := range map[string]struct {
		err  error
		want string
	}{
		"a port in use":              {inUse, "another program listens there"},
		"an address of others":       {elsewhere, "this machine does not have the address"},
		"a folder of others":         {fmt.Errorf("take the lock: %w", denied), rights},
		"a file system to read only": {&fs.PathError{Op: "open", Path: file, Err: syscall.EROFS}, "mounted read only"},
	} {
		got := advise(c.err)
		if !errors.Is(got, c.err) || !strings.HasPrefix(got.Error(), c.err.Error()+": ") || !strings.Contains(got.Error(), c.want) {
			t.Errorf("%s: got %q, want %q behind the error", name, got, c.want)
		}
	}
	for _, err := range []error{nil, errors.New("disk"), fs.ErrPermission, &warehouse.PlaceError{Dir: closed, Err: denied}} {
		if got := advise(err); !errors.Is(got, err) || got != nil && got.Error() != err.Error() {
			t.Errorf("%v: got %q, want it as it is", err, got)
		}
	}
}

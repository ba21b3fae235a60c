package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/user"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"placementsync/internal/durable"
	"placementsync/internal/testing/harness"
	"placementsync/internal/warehouse"
)

// TestAddAdvice checks the advice for system errors. The errors are real, except for
// the read-only file system and, if root runs the test, the missing permission.
func TestAddAdvice(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	harness.Must(t, err)
	t.Cleanup(func() { _ = listener.Close() })
	_, errInUse := net.Listen("tcp", listener.Addr().String())
	_, errNotLocal := net.Listen("tcp", "192.0.2.1:8080") // an address reserved for documentation
	unreadable := filepath.Join(t.TempDir(), "unreadable")
	harness.Must(t, os.Mkdir(unreadable, 0o000))
	file := filepath.Join(unreadable, "lock")
	_, errDenied := os.Open(file)
	advice := "check the permissions of " + unreadable
	if os.Geteuid() == 0 { // root may open the file
		errDenied = &fs.PathError{Op: "open", Path: file, Err: syscall.EACCES}
		harness.Must(t, os.Chown(unreadable, 65534, 65534))
		name := "the user 65534"
		if owner, err := user.LookupId("65534"); err == nil {
			name = owner.Username
		}
		advice = unreadable + " belongs to " + name + ": run the command as that user"
	}
	plainFile := filepath.Join(t.TempDir(), "file")
	harness.Must(t, os.WriteFile(plainFile, nil, 0o600))
	_, errBelowFile := os.ReadDir(filepath.Join(plainFile, "raw"))
	for name, c := range map[string]struct {
		err  error
		want string
	}{
		"a path below a file":        {errBelowFile, "raw: not a directory: a part of this path is a file, not a folder: correct the path"},
		"port in use":                {errInUse, "another process already listens on this port, perhaps an instance of this program"},
		"address of another machine": {errNotLocal, "this machine does not have the address"},
		"a port of root": {fmt.Errorf("serve: %w", &net.OpError{Op: "listen", Net: "tcp", Err: os.NewSyscallError("bind", syscall.EACCES)}),
			"choose a higher port"},
		"permission denied":     {fmt.Errorf("take the lock: %w", errDenied), advice},
		"read-only file system": {&fs.PathError{Op: "open", Path: file, Err: syscall.EROFS}, "mounted read-only"},
		"full disk":             {fmt.Errorf("write rows.csv: %w", syscall.ENOSPC), "free some space"},
	} {
		got := addAdvice(c.err)
		if !errors.Is(got, c.err) || !strings.HasPrefix(got.Error(), c.err.Error()+": ") || !strings.Contains(got.Error(), c.want) {
			t.Errorf("%s: got %q, want the error followed by %q", name, got, c.want)
		}
	}
	if got := permissionAdvice(unreadable, durable.AccessOf(mustStat(t, unreadable)).UID); !strings.HasPrefix(got, "check the permissions of "+unreadable) {
		t.Errorf("a folder of the own user: got %q, want its permissions", got)
	}
	want := "/ belongs to root: choose another path, or run the command as a user who may access it"
	if got := permissionAdvice("/nosuch/x.csv", 65534); !strings.HasPrefix(got, want) {
		t.Errorf("a folder of root outside of the warehouse: got %q, want %q", got, want)
	}
	for _, err := range []error{nil, errors.New("disk"), fs.ErrPermission,
		&fs.PathError{Op: "open", Path: file, Err: syscall.ENOENT},
		&net.OpError{Op: "dial", Net: "tcp", Err: syscall.EADDRNOTAVAIL},
		&net.OpError{Op: "dial", Net: "tcp", Err: syscall.EACCES},
		&net.OpError{Op: "listen", Net: "tcp", Err: syscall.EMFILE},
		&durable.TempError{Dir: "/tmp", Err: syscall.ENOSPC},
		&warehouse.FolderError{Dir: unreadable, Err: errDenied},
		&warehouse.DiskFullError{Dir: "/w", Err: syscall.ENOSPC},
	} {
		if got := addAdvice(err); !errors.Is(got, err) || got != nil && got.Error() != err.Error() {
			t.Errorf("got %q, want %q unchanged", got, err)
		}
	}
}

func mustStat(t *testing.T, path string) fs.FileInfo {
	t.Helper()
	info, err := os.Stat(path)
	harness.Must(t, err)
	return info
}

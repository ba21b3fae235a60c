package enginetest_test

import (
	"context"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"time"

	"placementsync/internal/testing/harness"
)

// startServer starts a server. At the end of the test, it stops the server with a signal.
func startServer(t *testing.T, cmd *exec.Cmd, stopSignal os.Signal) {
	t.Helper()
	cmd.Cancel = func() error { return cmd.Process.Signal(stopSignal) }
	harness.Must(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Signal(stopSignal) // the server may have ended with the test's context
		_ = cmd.Wait()
	})
}

// awaitServer waits up to a minute until a server responds.
func awaitServer(t *testing.T, name string, responds func(context.Context) bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for !responds(ctx) {
		select {
		case <-ctx.Done():
			t.Fatalf("%s did not respond within a minute", name)
		case <-time.After(200 * time.Millisecond):
		}
	}
}

// freePort returns an unused loopback port.
func freePort(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	harness.Must(t, err)
	harness.Must(t, listener.Close())
	_, port, err := net.SplitHostPort(listener.Addr().String())
	harness.Must(t, err)
	return port
}

type postgresServer struct{ address, user, password string }

// startPostgres creates a database in a temporary folder, and serves it on loopback, with a password.
// It also looks for the programs of Postgres in the folder in which Debian installs them, because
// PATH does not contain this folder.
func startPostgres(t *testing.T) postgresServer {
	t.Helper()
	s := postgresServer{user: "placementsync", password: "of-the-test"}
	folders, err := filepath.Glob("/usr/lib/postgresql/*/bin")
	harness.Must(t, err)
	if program, err := exec.LookPath("initdb"); err == nil {
		program, err = filepath.EvalSymlinks(program)
		harness.Must(t, err)
		folders = append(folders, filepath.Dir(program))
	}
	if len(folders) == 0 {
		t.Skip("skipped: found no initdb in PATH or below /usr/lib/postgresql; install Postgres (Debian's package is postgresql)")
	}
	bin := folders[len(folders)-1]
	dir, err := os.MkdirTemp("", "placementsync-postgres-") // t.TempDir is inside a folder that the user postgres cannot enter
	harness.Must(t, err)
	t.Cleanup(func() { harness.Must(t, os.RemoveAll(dir)) })
	passwordFile := filepath.Join(dir, "password")
	harness.Must(t, os.WriteFile(passwordFile, []byte(s.password), 0o600))
	prefix := asPostgresUser(t, dir, passwordFile)
	command := func(name string, args ...string) *exec.Cmd {
		words := append(slices.Clone(prefix), append([]string{filepath.Join(bin, name)}, args...)...)
		cmd := exec.CommandContext(t.Context(), words[0], words[1:]...)
		cmd.Dir = dir
		return cmd
	}
	dataDir, port := filepath.Join(dir, "data"), freePort(t)
	if out, err := command("initdb", "-D", dataDir, "-U", s.user, "--auth=scram-sha-256", "--pwfile="+passwordFile, "--no-sync").CombinedOutput(); err != nil {
		t.Fatalf("create a database: %v\n%s", err, out)
	}
	server := command("postgres", "-D", dataDir, "-h", "127.0.0.1", "-p", port, "-k", dir, "-c", "fsync=off", "-c", "log_min_messages=fatal")
	server.Stderr = t.Output()
	startServer(t, server, os.Interrupt) // This signal also closes open connections.
	awaitServer(t, "Postgres", func(ctx context.Context) bool {
		return exec.CommandContext(ctx, filepath.Join(bin, "pg_isready"), "-h", "127.0.0.1", "-p", port).Run() == nil
	})
	s.address = net.JoinHostPort("127.0.0.1", port)
	return s
}

// asPostgresUser returns the first words of a command that runs a program as the user postgres, and
// makes this user the owner of the paths. It does so only for root, because Postgres does not run as
// root. For other users it returns nil.
func asPostgresUser(t *testing.T, paths ...string) []string {
	t.Helper()
	if os.Geteuid() != 0 {
		return nil
	}
	requirePrograms(t, "setpriv")
	account, err := user.Lookup("postgres")
	if err != nil {
		t.Skipf("skipped: Postgres does not run as root, and the user postgres was not found: %v", err)
	}
	uid, err := strconv.Atoi(account.Uid)
	harness.Must(t, err)
	gid, err := strconv.Atoi(account.Gid)
	harness.Must(t, err)
	for _, path := range paths {
		harness.Must(t, os.Chown(path, uid, gid))
	}
	return []string{"setpriv", "--reuid=" + account.Uid, "--regid=" + account.Gid, "--clear-groups"}
}

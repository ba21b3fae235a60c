package warehouse_test

import (
	"os"
	"os/signal"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"placementsync/internal/testing/harness"
	"placementsync/internal/warehouse"
)

// fullDiskArg is the argument with which the test program checks a warehouse on a disk that is full.
const fullDiskArg = "check-on-a-full-disk"

// TestMain runs the tests in another time zone than UTC, and removes the shared warehouses.
func TestMain(m *testing.M) {
	if err := os.Setenv("TZ", "America/New_York"); err != nil {
		panic(err)
	}
	if len(os.Args) > 1 && os.Args[1] == fullDiskArg {
		harness.Main(m, fullDiskArg, checkOnAFullDisk)
		return
	}
	harness.MainWithFolder(m, "warehouse-test-", &shared.dir)
}

// checkOnAFullDisk limits the size of files to nothing and checks the warehouse whose folder is the second
// argument. An empty file can then be created, as on a full disk. The limit is for the whole process, in which
// other tests and the test framework write files, so this runs in a child process.
func checkOnAFullDisk() error {
	w := warehouse.New(warehouse.Config{Dir: os.Args[2]})
	signal.Ignore(syscall.SIGXFSZ)
	if err := unix.Setrlimit(unix.RLIMIT_FSIZE, &unix.Rlimit{}); err != nil {
		return err
	}
	return w.Folder.CheckWritable()
}

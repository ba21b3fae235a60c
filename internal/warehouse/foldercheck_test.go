package warehouse_test

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/gofrs/flock"

	"placementsync/internal/durable"
	"placementsync/internal/ledger"
	"placementsync/internal/testing/harness"
	"placementsync/internal/warehouse"
)

func TestNewRunIDFailsIfAFolderCannotBeRead(t *testing.T) {
	for name, c := range map[string]struct {
		create func(dir string) error
		want   string
	}{
		"a file named raw":            {func(dir string) error { return os.WriteFile(filepath.Join(dir, "raw"), nil, 0o600) }, "is a file, not a folder"},
		"a folder raw without access": {func(dir string) error { return os.Mkdir(filepath.Join(dir, "raw"), 0) }, "run the command as the user who owns"},
	} {
		t.Run(name, func(t *testing.T) {
			w := open(t)
			harness.Must(t, c.create(w.Folder.Dir()))
			if _, err := os.Lstat(w.Folder.RawPath("x")); errors.Is(err, fs.ErrNotExist) {
				t.Skip("this user can open folders without permissions")
			}
			_, err := w.RunLog.NewRunID(firstNightAt)
			var folderErr *warehouse.FolderError
			if !errors.As(err, &folderErr) || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), w.Folder.Dir()) {
				t.Errorf("got %v, want a FolderError with %q", err, c.want)
			}
		})
	}
}

// TestRunsOfOneSecondGetDifferentIDs chooses ids for runs that begin in the same second. An id is
// already used if it is the name of a folder, or if the ledger or an unfinished-run file contains it.
func TestRunsOfOneSecondGetDifferentIDs(t *testing.T) {
	w := open(t)
	requireNextID := func(want string) {
		t.Helper()
		if id, err := w.RunLog.NewRunID(firstNightAt.In(time.FixedZone("", 3600))); err != nil || id != want {
			t.Errorf("got %q (%v), want %q", id, err, want)
		}
	}
	harness.Must(t, os.MkdirAll(w.Folder.RawPath("20261101T020000Z"), 0o700))
	harness.Must(t, os.MkdirAll(w.Folder.VersionPath("20261101T020000Z-2"), 0o700))
	requireNextID("20261101T020000Z-3")
	harness.Must(t, w.RunLog.Record(ledger.Run{ID: "20261101T020000Z-3", Kind: ledger.Rollback, StartedAt: firstNightAt}))
	requireNextID("20261101T020000Z-4")
	harness.Must(t, w.RunLog.WriteResumableRun(warehouse.UnfinishedRun{Run: "20261101T020000Z-4", StartedAt: firstNightAt}))
	requireNextID("20261101T020000Z-5")
	harness.Must(t, w.RunLog.WriteUnresumableRun(warehouse.UnfinishedRun{Run: "20261101T020000Z-5", StartedAt: firstNightAt}))
	requireNextID("20261101T020000Z-6")
}

// TestBackupsOfOneSecondGetDifferentIDs records three backups that began in the same second.
func TestBackupsOfOneSecondGetDifferentIDs(t *testing.T) {
	w := open(t)
	for i := range 3 {
		followUp := ledger.BeginFollowUp(ledger.Backup, "test", firstNightAt.Add(time.Duration(i)*time.Millisecond))
		harness.Must(t, w.RunLog.Record(followUp.EndFollowUp(t.Context(), firstNightAt.Add(time.Second), nil)))
	}
	followUps, err := w.RunLog.RunsAndFollowUps()
	harness.Must(t, err)
	var ids []string
	for _, followUp := range followUps {
		ids = append(ids, followUp.ID)
		if followUp.Attempts != 1 {
			t.Errorf("the backup %s has %d attempts, want 1", followUp.ID, followUp.Attempts)
		}
	}
	if want := []string{"20261101T020000Z-backup", "20261101T020000Z-backup-2", "20261101T020000Z-backup-3"}; !slices.Equal(ids, want) {
		t.Errorf("the ids in the ledger are %v, want %v", ids, want)
	}
	if runs, err := w.RunLog.Runs(); err != nil || len(runs) > 0 {
		t.Errorf("the runs are %+v (%v), want none: a backup is no run", runs, err)
	}
}

func TestLockExistingCreatesNoFolder(t *testing.T) {
	w := openWith(t, warehouse.Config{Dir: filepath.Join(t.TempDir(), "mistyped")})
	_, err := w.LockExisting("rollback", firstNightAt)
	var missing *warehouse.NoWarehouseError
	if !errors.As(err, &missing) || !strings.Contains(err.Error(), "warehouse.dir") {
		t.Errorf("got %v, want a NoWarehouseError", err)
	}
	if _, err := os.Lstat(w.Folder.Dir()); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Lstat of the mistyped path: got %v, want no folder", err)
	}
	harness.Must(t, os.MkdirAll(filepath.Join(w.Folder.Dir(), "parquet"), 0o755))
	lock, err := w.LockExisting("rebuild", firstNightAt)
	harness.Must(t, err)
	harness.Must(t, lock.Release())
}

// TestFolderErrorsStateTheCause compares the messages for folders that cannot be used.
func TestFolderErrorsStateTheCause(t *testing.T) {
	for want, err := range map[string]error{
		`not a directory: "/w", or a path above or in it, is a file, not a folder; nothing in the warehouse was changed: correct warehouse.dir in the configuration`: syscall.ENOTDIR,
		`permission denied; nothing in the warehouse was changed: run the command as the user who owns "/w", or correct the owner of the file`:                       syscall.EACCES,
		`read-only file system; nothing in the warehouse was changed: check that the disk of "/w" is mounted and can be written`:                                     syscall.EROFS,
	} {
		if got := (&warehouse.FolderError{Dir: "/w", Err: err}).Error(); got != "open the warehouse: "+want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// TestAFullDiskIsRecognized passes errors of the system and of DuckDB to DiskFullErr.
func TestAFullDiskIsRecognized(t *testing.T) {
	f := openWith(t, warehouse.Config{Dir: "/w"}).Folder
	fullErr := &warehouse.DiskFullError{Dir: "/v", Err: syscall.ENOSPC}
	for name, c := range map[string]struct {
		err    error
		isFull bool
	}{
		"no error":                              {nil, false},
		"another error":                         {syscall.EIO, false},
		"the disk is full":                      {&fs.PathError{Op: "write", Path: "a", Err: syscall.ENOSPC}, true},
		"a used-up quota":                       {syscall.EDQUOT, true},
		"a file is too long":                    {syscall.EFBIG, true},
		"an error of DuckDB":                    {errors.New("IO Error: Could not write file \"a\": No space left on device"), true},
		"an error text in lower case":           {errors.New("write a: no space left on device"), true},
		"the error text in the name of a table": {errors.New(`Catalog Error: table "No space left on device" does not exist`), false},
	} {
		got := f.DiskFullErr(c.err)
		var full *warehouse.DiskFullError
		if isFull := errors.As(got, &full); isFull != c.isFull || !errors.Is(got, c.err) || isFull && full.Dir != "/w" || !isFull && got != c.err {
			t.Errorf("%s: DiskFullErr returned %v, want a DiskFullError of the folder /w: %t", name, got, c.isFull)
		}
	}
	if got := f.DiskFullErr(fullErr); got != error(fullErr) {
		t.Errorf("DiskFullErr returned %v for a DiskFullError, want the error unchanged", got)
	}
	want := `write to the warehouse "/w": the disk is full or the quota is used up: first; published snapshots and stored responses are kept: free some space, or run placementsync prune, then repeat the command`
	if got := (&warehouse.DiskFullError{Dir: "/w", Err: errors.New("first\nsecond")}).Error(); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestTheFolderIsCheckedBeforeANight checks a missing folder, a folder below a file, and an existing
// folder.
func TestTheFolderIsCheckedBeforeANight(t *testing.T) {
	parent := t.TempDir()
	f := openWith(t, warehouse.Config{Dir: filepath.Join(parent, "new", "warehouse")}).Folder
	harness.Must(t, f.CheckWritable())
	if entries, err := os.ReadDir(parent); err != nil || len(entries) > 0 {
		t.Errorf("after the check the parent folder contains %v (%v), want no files", entries, err)
	}
	harness.Must(t, os.WriteFile(filepath.Join(parent, "new"), nil, 0o600))
	if err := f.CheckWritable(); !errors.As(err, new(*warehouse.FolderError)) {
		t.Errorf("the error for a file above the warehouse is %v, want a FolderError", err)
	}
	if err := f.CheckExists(); !errors.As(err, new(*warehouse.FolderError)) {
		t.Errorf("the error for a file above the warehouse is %v, want a FolderError", err)
	}
	w := open(t)
	harness.Must(t, w.Folder.CheckWritable())
	if entries, err := os.ReadDir(path(w, "state")); err != nil || len(entries) > 0 {
		t.Errorf("after the check state/ contains %v (%v), want no files", entries, err)
	}
	harness.Must(t, w.Folder.CheckExists())
	for _, name := range []string{"parquet", "state"} {
		// No file can be created in this folder, not even by root.
		harness.Must(t, errors.Join(os.RemoveAll(path(w, name)), os.Symlink("/proc/self", path(w, name))))
		if err := w.Folder.CheckWritable(); err == nil {
			t.Errorf("no file can be created in %s: got no error, want one before the night", name)
		}
		harness.Must(t, os.Remove(path(w, name)))
	}
	readOnly := openWith(t, warehouse.Config{Step: func(string, string) error { return syscall.EROFS }})
	if _, err := readOnly.Lock(firstNight, firstNightAt); !errors.As(err, new(*warehouse.FolderError)) {
		t.Errorf("a disk that is mounted read-only: got %v, want a *FolderError", err)
	}
}

// TestTheFreeSpaceIsThatOfDf asks for the space on the disk of a new warehouse. Other programs use the same disk.
func TestTheFreeSpaceIsThatOfDf(t *testing.T) {
	parent := t.TempDir()
	out, err := exec.CommandContext(t.Context(), "df", "--output=avail", "-B1", parent).Output()
	if err != nil {
		t.Skip("df does not print the free space")
	}
	want, err := strconv.ParseInt(strings.Fields(string(out))[1], 10, 64) // below a heading
	harness.Must(t, err)
	free, err := openWith(t, warehouse.Config{Dir: filepath.Join(parent, "new")}).Folder.FreeBytes()
	if err != nil || free < want/2 || free > want*2 {
		t.Errorf("%d bytes are free (%v), and df prints %d", free, err, want)
	}
}

func TestAFullDiskIsNoticedBeforeANight(t *testing.T) {
	w := open(t)
	self, err := os.Executable()
	harness.Must(t, err)
	out, err := exec.Command(self, fullDiskArg, w.Folder.Dir()).CombinedOutput()
	if err == nil || !strings.Contains(string(out), "the disk is full or the quota is used up") {
		t.Errorf("the check printed %q (%v), want the error for a full disk", out, err)
	}
}

// TestALockNamesItsHolder locks a warehouse and names the run. Until the release, other processes get the run.
// CheckUnlocked must create no file, and keep no lock.
func TestALockNamesItsHolder(t *testing.T) {
	w := openWith(t, warehouse.Config{})
	harness.Must(t, w.Folder.CheckUnlocked())
	if exists(t, path(w, "state")) {
		t.Error("CheckUnlocked created state/, want no folder")
	}
	lock, err := w.Lock("night", firstNightAt)
	harness.Must(t, err)
	requireHolder := func(run string, since time.Time) {
		t.Helper()
		_, lockErr := w.Lock("prune", firstNightAt)
		for _, err := range []error{lockErr, w.Folder.CheckUnlocked()} {
			var locked *warehouse.LockedError
			if !errors.As(err, &locked) || locked.PID != os.Getpid() || locked.Run != run || !locked.Since.Equal(since) {
				t.Errorf("got %v, want a LockedError with this process and %s since %s", err, run, since)
			}
		}
	}
	requireHolder("night", firstNightAt)
	id, err := w.NameRun(lock, firstNightAt, firstNightAt.Add(time.Hour))
	if err != nil || id != firstNight {
		t.Errorf("the run is %s (%v), want %s", id, err, firstNight)
	}
	requireHolder(firstNight, firstNightAt.Add(time.Hour))
	harness.Must(t, lock.Release())
	harness.Must(t, w.Folder.CheckUnlocked())
	reader := flock.New(w.Folder.Path("state", "lock")) // of another process that looks for a holder at the same time
	_, err = reader.TryRLock()
	harness.Must(t, errors.Join(err, w.Folder.CheckUnlocked(), reader.Unlock()))
	lock, err = w.Lock(firstNight, firstNightAt)
	harness.Must(t, err)
	harness.Must(t, lock.Release())
}

// TestPathsOfAWarehouse checks the names of files and folders, which backups and other programs rely on.
func TestPathsOfAWarehouse(t *testing.T) {
	w := openWith(t, warehouse.Config{})
	f := w.Folder
	for got, want := range map[string]string{
		f.CatalogPath(): "catalog.duckdb", f.VersionPath("R"): "versions/R", f.VersionCatalog("R"): "versions/R/catalog.duckdb", f.HeldCatalog("R"): "held/R/catalog.duckdb",
		f.RawPath("R"): "raw/R", f.EventsPath("R"): "raw/R/webhooks", f.InboxPath(): "state/inbox", w.RunLog.Path(): "state/runs.jsonl",
		w.RunLog.ResumableRunPath(): "state/unfinished.json", w.RunLog.UnresumableRunPath(): "state/aside.json",
	} {
		if got != filepath.Join(f.Dir(), filepath.FromSlash(want)) {
			t.Errorf("got the path %s, want %s", got, want)
		}
	}
	for file, want := range map[string]bool{"state/lock": true, "state/backup.lock": true, "lock": false, "state/runs.jsonl": false, "raw/state/lock": false} {
		if warehouse.IsLockFile(file) != want {
			t.Errorf("%s is a lock: %t, want %t", file, !want, want)
		}
	}
}

// TestNewFoldersGetTheirOwner creates a warehouse as root for another user. Folders that existed keep their owner.
func TestNewFoldersGetTheirOwner(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can give a folder to another user")
	}
	const owner, group = 12345, 12346
	existing := t.TempDir()
	w := openWith(t, warehouse.Config{Dir: filepath.Join(existing, "a", "warehouse")})
	harness.Must(t, w.Folder.Create(&durable.Access{UID: owner, GID: group}))
	for name, want := range map[string]int{".": 0, "a": owner, "a/warehouse": owner, "a/warehouse/versions": owner, "a/warehouse/state": owner, "a/warehouse/raw": owner} {
		info := harness.MustValue(os.Stat(filepath.Join(existing, name)))
		got, wantGroup := durable.AccessOf(info), 0
		if want == owner {
			wantGroup = group
		}
		if got.UID != want || got.GID != wantGroup {
			t.Errorf("%s belongs to user %d and group %d, want %d and %d", name, got.UID, got.GID, want, wantGroup)
		}
	}
	other := openWith(t, warehouse.Config{Dir: filepath.Join(existing, "b")})
	harness.Must(t, other.Folder.Create(nil))
	if info, err := os.Stat(other.Folder.Path("state")); err != nil || durable.AccessOf(info).UID != 0 {
		t.Errorf("without an owner the folder has the owner of %v (%v), want the current user", info, err)
	}
}

// TestLockMessages checks the messages about another process.
func TestLockMessages(t *testing.T) {
	const end = "; nothing in the warehouse was changed: wait until that process ends"
	for want, e := range map[string]warehouse.LockedError{
		"lock the job \"backup\": another placementsync process holds this lock" + end:                          {Job: "backup", PID: 7},
		"lock the warehouse: another placementsync process holds this lock" + end:                               {},
		"lock the warehouse: process 7 has held the lock since 2026-11-01T02:00:00Z (" + firstNight + ")" + end: {PID: 7, Run: firstNight, Since: firstNightAt},
	} {
		if got := e.Error(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	// A process that was killed while it wrote the file is unknown.
	w := openWith(t, warehouse.Config{})
	lock, err := w.Lock("night", firstNightAt)
	harness.Must(t, err)
	defer lock.Release()
	harness.Must(t, os.WriteFile(w.Folder.Path("state", "lock"), []byte(`{"pid":7,"run`), 0o600))
	var locked *warehouse.LockedError
	if err := w.Folder.CheckUnlocked(); !errors.As(err, &locked) || locked.PID != 0 || locked.Run != "" {
		t.Errorf("with a damaged lock file: got %v, want an unknown process", err)
	}
}

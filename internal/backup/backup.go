// Package backup mirrors parquet/ and state/ of a warehouse to a bucket and restores them.
//
// The content of a file is stored as an object below data/, named by the SHA-256 of its bytes. So equal
// content is sent only once, and no object is overwritten. A manifest lists all files of a backup. It
// is written last, so every manifest describes a complete backup. An interrupted backup leaves objects
// without a manifest.
// The package must not know the meaning of the files, or when backups run.
package backup

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"placementsync/internal/bucket"
	"placementsync/internal/checksum"
	"placementsync/internal/ledger"
	"placementsync/internal/warehouse"
)

const parallelFiles = 8

// Config is a warehouse and its bucket.
type Config struct {
	Warehouse *warehouse.Warehouse
	Bucket    *bucket.Bucket
	// Program is the version of this program. Manifests record it.
	Program string
	// UseOlder makes Restore and Verify use an earlier backup if the newest manifest cannot be
	// read.
	UseOlder bool
	Now      func() time.Time
	Log      *slog.Logger
	// Progress is called when Run has sent a file or found it in the bucket, and when Restore has fetched a file or
	// found it in place, with the bytes of these files and of all files. Nil means that it is not called.
	Progress func(done, total int64)
}

// Result is the result of Run.
type Result struct {
	// Run is the version that readers saw when the backup began.
	Run string
	// Files and Bytes count all files of the backup. Sent and SentBytes count the sent files.
	Files, Sent      int
	Bytes, SentBytes int64
	// Removed counts the removed objects of old backups.
	Removed int
	// LeftOut are the files that are not in the backup: files without an intact copy in the warehouse
	// or the bucket, and days that are missing in the Parquet series.
	LeftOut []DamagedFile
}

// DamagedFile is a missing or damaged file, or a file whose object is missing or damaged.
type DamagedFile struct {
	File    string `json:"file"`
	Problem string `json:"problem"`
}

// job is a backup in progress.
type job struct {
	Config
	mu     sync.Mutex
	result Result
	// stored are the objects in the bucket, by name.
	stored map[string]bucket.Object
	files  []checksum.FileSum
}

// Run brings the backup up to date. After an error the bucket contains its earlier backups,
// and possibly the new backup. The next Run sends only the missing objects.
func Run(ctx context.Context, c Config) (res Result, err error) {
	unlock, err := c.Warehouse.Folder.LockJob(ledger.Backup)
	if err != nil {
		return res, err
	}
	defer func() { err = errors.Join(err, unlock()) }()
	j := &job{Config: c}
	if j.result.Run, _, err = c.Warehouse.Versions.Latest(); err != nil {
		return res, err
	}
	if err := j.completeSeries(); err != nil {
		return res, err
	}
	existing, err := j.checkOwner(ctx)
	if err != nil {
		return res, err
	}
	if j.stored, err = listData(ctx, c.Bucket); err != nil {
		return res, err
	}
	if err := j.sendFiles(ctx); err != nil {
		return j.result, err
	}
	if err := j.leaveOutMissingDays(); err != nil {
		return j.result, err
	}
	m := Manifest{Kind: manifestKind, Format: manifestFormat, Run: j.result.Run, At: timeAfter(c.Now(), existing.newestAt), Program: c.Program, Files: j.files, LeftOut: j.result.LeftOut}
	name, err := writeManifest(ctx, c.Bucket, m)
	if err != nil {
		return j.result, err
	}
	if err := j.checkStoredObjects(ctx, name); err != nil {
		return j.result, err
	}
	j.result.Files = len(m.Files)
	for _, f := range m.Files {
		j.result.Bytes += f.Bytes
	}
	// The backup is complete. An error below only leaves unneeded objects.
	if err := j.removeOldBackups(ctx, name); err != nil {
		c.Log.Warn("objects of old backups not removed; the next backup tries again", "error", err)
	}
	return j.result, nil
}

// completeSeries adds the missing days to the Parquet series, because a backup copies the series but no
// versions. If another command has the lock, or a file is damaged, days remain missing, and leaveOutMissingDays
// reports them.
func (j *job) completeSeries() error {
	missing, err := j.Warehouse.Series.Missing()
	if err != nil || len(missing) == 0 {
		return err
	}
	lock, err := j.Warehouse.Lock(ledger.Backup, j.Now())
	if errors.As(err, new(*warehouse.LockedError)) {
		return nil
	}
	if err != nil {
		return err
	}
	_, err = j.Warehouse.Series.Complete()
	if errors.As(err, new(*warehouse.ExtendError)) {
		err = nil
	}
	return errors.Join(err, lock.Release())
}

// leaveOutMissingDays reports the days that completeSeries could not add. Days that were published after the
// backup began are not part of this backup.
func (j *job) leaveOutMissingDays() error {
	missing, err := j.Warehouse.Series.Missing()
	for _, m := range missing {
		if m.RunID <= j.result.Run {
			day := j.Warehouse.Folder.DayManifestPath(warehouse.DayOf(m.SnapshotAt))
			j.leaveOut(j.Warehouse.Folder.Relative(day), "run "+m.RunID+" has not completed its day; the next run completes the day")
		}
	}
	return err
}

// timeAfter returns now, or a time after previous if the clock was set back. The name of a
// manifest begins with its time, and the newest backup is found by the name.
func timeAfter(now, previous time.Time) time.Time {
	now = now.UTC().Truncate(time.Millisecond)
	if next := previous.Add(time.Millisecond); now.Before(next) {
		return next
	}
	return now
}

// checkOwner returns the manifests in the bucket. It returns an error if this warehouse does not know the run
// of the newest manifest: a new warehouse must not replace the backup of a lost warehouse.
func (j *job) checkOwner(ctx context.Context) (manifests, error) {
	existing, err := listManifests(ctx, j.Bucket)
	if errors.As(err, new(*manifestError)) {
		err = fmt.Errorf("%w; to begin a new backup, set another prefix", err)
	}
	if err != nil || len(existing.readable) == 0 {
		return existing, err
	}
	newestRun := existing.readable[len(existing.readable)-1].Run
	runs, err := j.Warehouse.RunLog.AllRuns()
	if err != nil {
		return existing, err
	}
	if newestRun == "" || newestRun == j.result.Run || ledger.Find(runs, newestRun).ID != "" {
		return existing, nil
	}
	// The ledger may be lost, for example because its object in the bucket was. The series names its runs too.
	if _, err := j.Warehouse.Versions.ReadManifestFile(j.Warehouse.Folder.RunManifestPath(newestRun), newestRun); err == nil {
		return existing, nil
	}
	return existing, fmt.Errorf("back up to %s: the existing backup belongs to another warehouse, with run %s; nothing was changed: "+
		"restore it with \"placementsync rebuild --from\", or set another prefix for this warehouse", j.Bucket.Address(""), newestRun)
}

func listData(ctx context.Context, b *bucket.Bucket) (map[string]bucket.Object, error) {
	objects, err := b.List(ctx, dataDir)
	stored := map[string]bucket.Object{}
	for _, o := range objects {
		stored[o.Name] = o
	}
	return stored, err
}

// checkStoredObjects checks that the bucket has all objects of the manifest, because another program may have
// removed objects meanwhile. If an object is missing, checkStoredObjects deletes the manifest.
func (j *job) checkStoredObjects(ctx context.Context, manifestName string) (err error) {
	if j.stored, err = listData(ctx, j.Bucket); err != nil {
		return err
	}
	for _, f := range j.files {
		if !j.isStored(f) {
			err := fmt.Errorf("back up to %s: the object %s with the file %s was removed during the backup: another program removes objects there, or another warehouse uses this prefix; "+
				"the previous backup was kept, and the next backup sends the object again", j.Bucket.Address(""), dataName(f), f.File)
			return errors.Join(err, j.Bucket.Delete(ctx, manifestName))
		}
	}
	return nil
}

// sendFiles sends the files that the bucket lacks. If a night changed the Parquet series meanwhile, sendFiles
// starts again, because a backup must not mix files from before and after a night. It also starts again once
// if files of the warehouse were missing or damaged, because a night may have been replacing them.
func (j *job) sendFiles(ctx context.Context) error {
	const maxAttempts = 5
	isUnchanged := false
	for attempt := range maxAttempts {
		files, err := filesOf(j.Warehouse)
		if err != nil {
			return err
		}
		j.files, j.result.LeftOut = nil, nil
		if err := eachFile(ctx, files, j.reportProgress(files, j.sendFile)); err != nil {
			return err
		}
		filesAfter, err := filesOf(j.Warehouse)
		if err != nil {
			return err
		}
		isUnchanged = slices.Equal(seriesFiles(files), seriesFiles(filesAfter))
		if isUnchanged && (len(j.result.LeftOut) == 0 || attempt > 0) {
			break
		}
		if !isUnchanged {
			j.Log.Info("the Parquet series changed during the backup", "attempt", attempt+1)
		}
	}
	if !isUnchanged {
		return fmt.Errorf("back up to %s: the Parquet series changed during each of %d attempts; the previous backup and the sent files were kept: "+
			"run \"placementsync backup\" while no night is running", j.Bucket.Address(""), maxAttempts)
	}
	slices.SortFunc(j.files, compareFiles)
	slices.SortFunc(j.result.LeftOut, func(x, y DamagedFile) int { return strings.Compare(x.File, y.File) })
	return nil
}

// reportProgress returns a function that works on one of the files and then reports the progress.
func (c Config) reportProgress(
	files []checksum.FileSum, work func(ctx context.Context, f checksum.FileSum) error,
) func(ctx context.Context, f checksum.FileSum) error {
	if c.Progress == nil {
		return work
	}
	var done atomic.Int64
	total := int64(0)
	for _, f := range files {
		total += f.Bytes
	}
	return func(ctx context.Context, f checksum.FileSum) error {
		err := work(ctx, f)
		c.Progress(done.Add(f.Bytes), total)
		return err
	}
}

// seriesFiles returns the files with a checksum, sorted. filesOf returns a checksum only for files of the
// series.
func seriesFiles(files []checksum.FileSum) []checksum.FileSum {
	inSeries := slices.DeleteFunc(slices.Clone(files), func(f checksum.FileSum) bool { return f.SHA256 == "" })
	slices.SortFunc(inSeries, compareFiles)
	return inSeries
}

func compareFiles(x, y checksum.FileSum) int { return strings.Compare(x.File, y.File) }

// sendFile sends a file unless the bucket has it. It does not read a file that the bucket has: even
// if the local file is damaged, the copy in the bucket is intact.
func (j *job) sendFile(ctx context.Context, want checksum.FileSum) error {
	if want.SHA256 != "" && j.isStored(want) {
		j.addFile(want, false)
		return nil
	}
	path, err := pathOf(j.Warehouse, want.File)
	if err != nil {
		return err
	}
	problem := ""
	for _, path := range append([]string{path}, copiesOf(j.Warehouse, want.File)...) {
		pathProblem, err := j.sendFrom(ctx, path, want)
		if err != nil || pathProblem == "" {
			return err
		}
		problem = cmp.Or(problem, pathProblem)
	}
	if want.SHA256 != "" {
		j.leaveOut(want.File, problem)
	}
	return nil // a file of state/ may have been removed meanwhile
}

// sendFrom sends the file at path. It does not send a missing or damaged file, but returns its problem.
func (j *job) sendFrom(ctx context.Context, path string, want checksum.FileSum) (problem string, err error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return "it is missing", nil
	}
	if err != nil {
		return "", fmt.Errorf("back up %s: %w; earlier backups are kept", want.File, err)
	}
	defer f.Close()
	sent, err := sumFile(ctx, want.File, f)
	if err != nil {
		return "", fmt.Errorf("back up %s: %w; earlier backups are kept", want.File, err)
	}
	if want.SHA256 != "" && sent.SHA256 != want.SHA256 {
		return checksum.WrongSum, nil
	}
	isNew := j.claim(sent)
	if isNew {
		if err := j.Bucket.Put(ctx, dataName(sent), f, sent); err != nil {
			return "", err
		}
	}
	j.addFile(sent, isNew)
	return "", nil
}

func (j *job) isStored(f checksum.FileSum) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.hasObject(f)
}

// The caller must hold j.mu.
func (j *job) hasObject(f checksum.FileSum) bool {
	o, ok := j.stored[dataName(f)]
	return ok && o.Bytes == f.Bytes
}

// claim reports whether the caller must send a file, because the bucket lacks its content and no other file with
// the same content is being sent.
func (j *job) claim(f checksum.FileSum) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.hasObject(f) {
		return false
	}
	j.stored[dataName(f)] = bucket.Object{Bytes: f.Bytes}
	return true
}

// isNew means that the content was sent.
func (j *job) addFile(f checksum.FileSum, isNew bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.files = append(j.files, f)
	if isNew {
		j.result.Sent++
		j.result.SentBytes += f.Bytes
	}
}

func (j *job) leaveOut(file, problem string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.result.LeftOut = append(j.result.LeftOut, DamagedFile{file, problem})
}

// removeOldBackups removes all manifests except the newest two, and then the objects that no manifest
// lists. A running restore may use the second newest manifest. An unreadable manifest may list any object.
//
// Another machine may use the same prefix, although that is not supported. So the manifests are listed again,
// and objects are kept that were stored less than a day before this backup, because their manifest is
// possibly not written yet.
func (j *job) removeOldBackups(ctx context.Context, ownManifest string) error {
	const keptManifests = 2
	existing, err := listManifests(ctx, j.Bucket)
	if err != nil {
		return err
	}
	if len(existing.unreadable) > 0 {
		return fmt.Errorf("%w; no object is removed until this manifest can be read or is deleted", existing.unreadable[0])
	}
	all := existing.readable
	ownIndex := slices.IndexFunc(all, func(m storedManifest) bool { return m.name == ownManifest })
	if ownIndex < 0 {
		return fmt.Errorf("find the backup %s: it is missing; no object was removed", j.Bucket.Address(ownManifest))
	}
	cutoff := all[ownIndex].storedAt.Add(-24 * time.Hour)
	oldCount := max(0, len(all)-keptManifests)
	var oldManifests []string
	for _, m := range all[:oldCount] {
		oldManifests = append(oldManifests, m.name)
	}
	if err := j.Bucket.Delete(ctx, oldManifests...); err != nil {
		return err
	}
	needed := map[string]bool{}
	for _, m := range all[oldCount:] {
		for _, f := range m.Files {
			needed[dataName(f)] = true
		}
	}
	var oldObjects []string
	for name, o := range j.stored {
		if !needed[name] && !o.StoredAt.IsZero() && o.StoredAt.Before(cutoff) {
			oldObjects = append(oldObjects, name)
		}
	}
	slices.Sort(oldObjects)
	j.result.Removed = len(oldObjects)
	return j.Bucket.Delete(ctx, oldObjects...)
}

// sumFile returns the checksum of a file up to its current size, because a journal may grow while it is
// read.
func sumFile(ctx context.Context, name string, f *os.File) (checksum.FileSum, error) {
	info, err := f.Stat()
	if err != nil {
		return checksum.FileSum{}, err
	}
	return checksum.Sum(ctx, name, io.NewSectionReader(f, 0, info.Size()))
}

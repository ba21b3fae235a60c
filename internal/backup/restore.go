package backup

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"placementsync/internal/bucket"
	"placementsync/internal/checksum"
	"placementsync/internal/warehouse"
)

// Restored describes a restored backup.
type Restored struct {
	Manifest
	// Fetched and Bytes count the files that were read from the bucket. The other files already
	// existed.
	Fetched int
	Bytes   int64
	// Damaged are the files whose objects are missing or damaged, sorted by name.
	Damaged []DamagedFile
}

// Restore copies parquet/ and state/ of the newest backup to a folder without a warehouse. A file
// appears there only after its checksum was verified. Files whose objects are missing or damaged are left
// out and returned in Damaged. After any other error the restore is unfinished: nights and rebuilds return a
// *warehouse.UnfinishedRestoreError until another Restore has fetched the missing files. The ledger is
// written last, because earlier releases refuse a night if there are snapshots without a ledger.
func Restore(ctx context.Context, c Config) (res Restored, err error) {
	if res.Manifest, err = c.readNewest(ctx); err != nil {
		return res, err
	}
	ledgerIndex := slices.IndexFunc(res.Files, func(f checksum.FileSum) bool { return f.File == ledgerName(c.Warehouse) })
	if ledgerIndex < 0 {
		return res, fmt.Errorf("restore from %s: the backup of %s contains no ledger; nothing was changed: name another backup with --from", c.Bucket.Address(""), res.Run)
	}
	ledgerFile := res.Files[ledgerIndex]
	isRestored, _ := c.isInPlace(ctx, ledgerFile) // a ledger that cannot be read is not that of the backup
	if err := checkEmpty(c.Warehouse, isRestored); err != nil {
		return res, err
	}
	lock, err := c.Warehouse.LockForRestore(c.Bucket.Address(""), c.Now())
	if err != nil {
		return res, err
	}
	defer func() { err = errors.Join(err, lock.Release()) }()
	r := &restore{Config: c}
	others := slices.Delete(slices.Clone(res.Files), ledgerIndex, ledgerIndex+1)
	err = eachFile(ctx, others, r.reportProgress(others, r.fetch))
	if err == nil {
		err = r.fetch(ctx, ledgerFile)
	}
	slices.SortFunc(r.damaged, func(x, y DamagedFile) int { return strings.Compare(x.File, y.File) })
	res.Fetched, res.Bytes, res.Damaged = r.fetched, r.bytes, r.damaged
	if err != nil {
		return res, err
	}
	return res, c.Warehouse.FinishRestore()
}

type restore struct {
	Config
	mu      sync.Mutex
	fetched int
	bytes   int64
	damaged []DamagedFile
}

// isInPlace reports whether the local file exists and equals the file of the backup. It returns an
// error if a file outside state/ differs. A file below state/ is allowed to differ, because a night
// that failed during an earlier restore may have written the file.
func (c Config) isInPlace(ctx context.Context, f checksum.FileSum) (bool, error) {
	path, err := pathOf(c.Warehouse, f.File)
	if err != nil {
		return false, err
	}
	file, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer file.Close()
	sum, err := sumFile(ctx, f.File, file)
	if err != nil || sum == f {
		return err == nil, err
	}
	if strings.HasPrefix(f.File, warehouse.StateDir+"/") {
		return false, nil
	}
	return false, fmt.Errorf("restore %s: a different file exists and was kept: set warehouse.dir to an empty folder", f.File)
}

// fetch copies a file from the bucket unless it is in place. A missing or damaged object is not an error.
func (r *restore) fetch(ctx context.Context, f checksum.FileSum) error {
	if exists, err := r.isInPlace(ctx, f); exists || err != nil {
		return err
	}
	path, err := pathOf(r.Warehouse, f.File)
	if err != nil {
		return err
	}
	err = r.Warehouse.Folder.RestoreFile(path, func(file *os.File) error {
		return r.Bucket.Get(ctx, dataName(f), f, func() (io.Writer, error) {
			_, err := file.Seek(0, io.SeekStart)
			return file, errors.Join(err, file.Truncate(0))
		})
	})
	r.mu.Lock()
	defer r.mu.Unlock()
	address := r.Bucket.Address(dataName(f))
	switch {
	case errors.Is(err, bucket.ErrMissing):
		r.damaged = append(r.damaged, DamagedFile{f.File, "the object " + address + " is missing"})
	case errors.Is(err, bucket.ErrDiffers):
		r.damaged = append(r.damaged, DamagedFile{f.File, "the bytes of the object " + address + " do not match its checksum"})
	case err != nil:
		return err
	default:
		r.fetched++
		r.bytes += f.Bytes
	}
	return nil
}

func eachFile(ctx context.Context, files []checksum.FileSum, work func(ctx context.Context, f checksum.FileSum) error) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(parallelFiles)
	for _, f := range files {
		group.Go(func() error { return work(ctx, f) })
	}
	return group.Wait()
}

// Verify compares the objects of the newest backup with its manifest: their sizes and, if
// readData is set, their bytes. Fetched and Bytes count the objects whose bytes were compared and match. Verify
// changes no object and no file.
func Verify(ctx context.Context, c Config, readData bool) (v Restored, err error) {
	if v.Manifest, err = c.readNewest(ctx); err != nil {
		return v, err
	}
	stored, err := listData(ctx, c.Bucket)
	if err != nil {
		return v, err
	}
	problems := make(chan DamagedFile, len(v.Files))
	var fetched, bytes atomic.Int64
	err = eachFile(ctx, v.Files, func(ctx context.Context, f checksum.FileSum) error {
		switch o, ok := stored[dataName(f)]; {
		case !ok:
			problems <- DamagedFile{f.File, "its object is missing: the next backup sends it again, if the warehouse has the file"}
		case o.Bytes != f.Bytes:
			problems <- DamagedFile{f.File, fmt.Sprintf("its object has %d bytes, not %d: the next backup sends it again, if the warehouse has the file", o.Bytes, f.Bytes)}
		case readData:
			err := c.Bucket.Get(ctx, dataName(f), f, func() (io.Writer, error) { return io.Discard, nil })
			if errors.Is(err, bucket.ErrDiffers) {
				problems <- DamagedFile{f.File, fmt.Sprintf("its bytes do not match its checksum: remove %s, and the next backup sends it again", c.Bucket.Address(dataName(f)))}
				return nil
			}
			if err != nil {
				return err
			}
			fetched.Add(1)
			bytes.Add(f.Bytes)
		}
		return nil
	})
	close(problems)
	for p := range problems {
		v.Damaged = append(v.Damaged, p)
	}
	slices.SortFunc(v.Damaged, func(x, y DamagedFile) int { return strings.Compare(x.File, y.File) })
	v.Fetched, v.Bytes = int(fetched.Load()), bytes.Load()
	return v, err
}

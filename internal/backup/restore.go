package backup

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"placementsync/internal/object"
)

// Restored is what Restore or Verify read.
type Restored struct {
	Manifest
	// Fetched files were read from the bucket; the others were there already.
	Fetched int
	Bytes   int64
}

// Restore brings parquet/ and state/ of the newest backup into a folder without a
// warehouse. A file appears when its checksum was compared, and the ledger last: until
// then no night begins. After an error, another Restore fetches only what is missing.
func Restore(ctx context.Context, c Config) (res Restored, err error) {
	if res.Manifest, err = c.readNewest(ctx); err != nil {
		return res, err
	}
	mirror := c.Warehouse.Mirror
	ledger := slices.IndexFunc(res.Files, func(f File) bool { return f.File == mirror.LedgerFile() })
	if ledger < 0 {
		return res, fmt.Errorf("restore from %s: the backup of %s has no ledger; nothing was changed", c.Bucket.Address(""), res.Run)
	}
	last := res.Files[ledger]
	err = mirror.CheckEmpty(func() bool {
		same, err := c.isInPlace(ctx, last)
		return same && err == nil
	})
	if err != nil {
		return res, err
	}
	lock, err := c.Warehouse.Lock("restore", c.Now())
	if err != nil {
		return res, err
	}
	defer func() { err = errors.Join(err, lock.Release()) }()
	others := slices.Delete(slices.Clone(res.Files), ledger, ledger+1)
	var fetched, bytes atomic.Int64
	err = eachFile(ctx, others, func(ctx context.Context, f File) error { return c.fetch(ctx, f, &fetched, &bytes) })
	if err == nil {
		err = c.fetch(ctx, last, &fetched, &bytes)
	}
	res.Fetched, res.Bytes = int(fetched.Load()), bytes.Load()
	if err != nil {
		err = fmt.Errorf("%w; %d files were restored, and the same command continues", err, res.Fetched)
	}
	return res, err
}

// isInPlace compares a file of this machine with the backup; false without an error: it
// is not there. A file of state may be replaced, since no run here has published.
func (c Config) isInPlace(ctx context.Context, f File) (bool, error) {
	path, err := c.Warehouse.Mirror.Path(f.File)
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
	sum, err := sumFile(ctx, file)
	if err == nil && sum != f.sum() && strings.HasPrefix(f.File, "state/") {
		return false, nil
	}
	if err == nil && sum != f.sum() {
		err = fmt.Errorf("restore %s: another file has its place; it was left as it is: name a new folder as warehouse.dir", f.File)
	}
	return err == nil, err
}

func (c Config) fetch(ctx context.Context, f File, fetched, bytes *atomic.Int64) error {
	if there, err := c.isInPlace(ctx, f); there || err != nil {
		return err
	}
	err := c.Warehouse.Mirror.Place(f.File, func(file *os.File) error {
		return c.Bucket.Get(ctx, dataName(f.sum()), f.sum(), func() (io.Writer, error) {
			_, err := file.Seek(0, io.SeekStart)
			return file, errors.Join(err, file.Truncate(0))
		})
	})
	if err == nil {
		fetched.Add(1)
		bytes.Add(f.Bytes)
	}
	return err
}

// eachFile works on some files at once, until one fails.
func eachFile(ctx context.Context, files []File, work func(ctx context.Context, f File) error) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(parallel)
	for _, f := range files {
		group.Go(func() error {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			return work(ctx, f)
		})
	}
	return group.Wait()
}

// Verified is what Verify found.
type Verified struct {
	Restored
	// Damaged are files whose objects are missing or not what was written.
	Damaged []Problem
}

// Verify compares the objects of the newest backup with its manifest: their sizes, and
// with readData their bytes. It changes nothing.
func Verify(ctx context.Context, c Config, readData bool) (v Verified, err error) {
	if v.Manifest, err = c.readNewest(ctx); err != nil {
		return v, err
	}
	objects, err := c.Bucket.List(ctx, dataDir)
	if err != nil {
		return v, err
	}
	stored := map[string]int64{}
	for _, o := range objects {
		stored[o.Name] = o.Bytes
	}
	problems := make(chan Problem, len(v.Files))
	var fetched, bytes atomic.Int64
	err = eachFile(ctx, v.Files, func(ctx context.Context, f File) error {
		switch size, ok := stored[dataName(f.sum())]; {
		case !ok:
			problems <- Problem{f.File, "its object is gone: the next backup sends it again, if the warehouse has the file"}
		case size != f.Bytes:
			problems <- Problem{f.File, fmt.Sprintf("its object has %d bytes, not %d: the next backup sends it again, if the warehouse has the file", size, f.Bytes)}
		case readData:
			err := c.Bucket.Get(ctx, dataName(f.sum()), f.sum(), func() (io.Writer, error) { return io.Discard, nil })
			if errors.Is(err, object.ErrDiffers) {
				problems <- Problem{f.File, fmt.Sprintf("its bytes are not those of its checksum: remove %s, and the next backup sends it again", c.Bucket.Address(dataName(f.sum())))}
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
	slices.SortFunc(v.Damaged, func(x, y Problem) int { return strings.Compare(x.File, y.File) })
	v.Fetched, v.Bytes = int(fetched.Load()), bytes.Load()
	return v, err
}

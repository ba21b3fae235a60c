package warehouse

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

// Usage is the disk usage of one part of the folder.
type Usage struct {
	Part  string
	Bytes int64
}

// Measured is the name and the folder of a part that Measure reports.
type Measured struct{ Part, Dir string }

// Measure returns the disk space of each part of the folder, as du does: first of others, then of the
// series, the versions, the inbox, landed responses, state, and of all remaining files. A file with
// several names counts only for the first part that contains it: most files of a version count for
// the series. A missing folder of others is left out. ctx cancels Measure.
func (f *Folder) Measure(ctx context.Context, others ...Measured) ([]Usage, error) {
	if _, err := os.Stat(f.dir); err != nil {
		return nil, fmt.Errorf("measure the warehouse: %w", err)
	}
	// counted are the measured folders, and countedLinks the counted files with several names.
	var counted []string
	countedLinks := map[fileID]bool{}
	// measureFolder skips measured folders, counted files, and files that a night removes
	// meanwhile.
	measureFolder := func(dir string) (sum int64, err error) {
		defer func() { counted = append(counted, dir) }()
		return sum, filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
			if err == nil && slices.Contains(counted, path) {
				return fs.SkipDir
			}
			var info fs.FileInfo
			if err == nil {
				info, err = e.Info()
			}
			if errors.Is(err, fs.ErrNotExist) {
				return nil
			}
			if err != nil {
				return err
			}
			id, bytes, shared := diskUse(info)
			if shared && !e.IsDir() {
				if countedLinks[id] {
					return ctx.Err()
				}
				countedLinks[id] = true
			}
			sum += bytes
			return ctx.Err()
		})
	}
	var all []Usage
	for i, part := range append(slices.Clone(others),
		Measured{SeriesDir, f.Path(SeriesDir)}, Measured{VersionsDir, f.Path(VersionsDir)}, Measured{"inbox", f.InboxPath()},
		Measured{rawDir, f.Path(rawDir)}, Measured{stateDir, f.Path(stateDir)}, Measured{"other", f.dir}) {
		root, err := filepath.EvalSymlinks(part.Dir)
		isAbsent := errors.Is(err, fs.ErrNotExist)
		if isAbsent && i < len(others) {
			continue // its disk may not be mounted
		}
		var bytes int64
		if isAbsent {
			err = nil
		} else if err == nil {
			bytes, err = measureFolder(root)
		}
		if err != nil {
			return nil, fmt.Errorf("measure %s: %w", part.Part, err)
		}
		all = append(all, Usage{part.Part, bytes})
	}
	return all, nil
}

// MeasureNext returns the disk space that the next night may need. It is twice the size of the newest
// version, because the draft begins as a copy and all its files may be written again. It is 0 before
// the first night.
func (v *Versions) MeasureNext() (int64, error) {
	latest, ok, err := v.Latest()
	if err != nil || !ok {
		return 0, err
	}
	files, err := os.ReadDir(v.folder.VersionPath(latest))
	if err != nil && !errors.Is(err, fs.ErrNotExist) { // Identity.Check reports a missing version
		return 0, fmt.Errorf("measure the newest version: %w", err)
	}
	var sum int64
	for _, file := range files {
		if info, err := file.Info(); err == nil { // a prune may have removed the file
			sum += 2 * info.Size()
		}
	}
	return sum, nil
}

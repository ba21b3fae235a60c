package warehouse

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"
)

// Usage is the disk usage of a named part of the warehouse folder, such as "parquet" or "other".
type Usage struct {
	Part  string
	Bytes int64
}

// MeasuredFolder is a folder that Measure reports as the named part.
type MeasuredFolder struct{ Part, Dir string }

// Measure returns the disk space of each part of the folder, as du does. The parts are the extra folders,
// the series, the versions, the inbox, stored responses, state, and all remaining files, in this order. A
// file with several hard links counts only for the first part that contains it, so most files of a
// version count for the series. If an extra folder is missing, its part is left out. ctx cancels Measure.
func (f *Folder) Measure(ctx context.Context, extra ...MeasuredFolder) ([]Usage, error) {
	if _, err := os.Stat(f.dir); err != nil {
		return nil, fmt.Errorf("measure the warehouse: %w", err)
	}
	var countedFolders []string
	countedLinks := map[fileID]bool{} // the counted files with several hard links
	// measureFolder skips counted folders and links, and files that a night removes at the same time.
	measureFolder := func(dir string) (int64, error) {
		sum := int64(0)
		err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, walkErr error) error {
			if errors.Is(walkErr, fs.ErrNotExist) {
				return nil
			}
			if walkErr != nil {
				return walkErr
			}
			if slices.Contains(countedFolders, path) {
				return fs.SkipDir
			}
			info, err := e.Info()
			if errors.Is(err, fs.ErrNotExist) {
				return nil
			}
			if err != nil {
				return err
			}
			stat := info.Sys().(*syscall.Stat_t)
			id := fileID{uint64(stat.Dev), uint64(stat.Ino)}
			if stat.Nlink > 1 && !e.IsDir() {
				if countedLinks[id] {
					return ctx.Err()
				}
				countedLinks[id] = true
			}
			const blockSize = 512 // the system counts disk space in blocks of this size
			sum += int64(stat.Blocks) * blockSize
			return ctx.Err()
		})
		countedFolders = append(countedFolders, dir)
		return sum, err
	}
	own := []MeasuredFolder{
		{SeriesDir, f.Path(SeriesDir)}, {VersionsDir, f.Path(VersionsDir)}, {"inbox", f.InboxPath()},
		{rawDir, f.Path(rawDir)}, {StateDir, f.Path(StateDir)}, {"other", f.dir}, // all remaining files
	}
	var all []Usage
	for i, part := range slices.Concat(extra, own) {
		root, err := filepath.EvalSymlinks(part.Dir)
		isAbsent := errors.Is(err, fs.ErrNotExist)
		if isAbsent && i < len(extra) {
			continue // the disk of the folder may be unmounted
		}
		if isAbsent {
			all = append(all, Usage{part.Part, 0})
			continue
		}
		var bytes int64
		if err == nil {
			bytes, err = measureFolder(root)
		}
		if err != nil {
			return nil, fmt.Errorf("measure %s: %w", part.Part, err)
		}
		all = append(all, Usage{part.Part, bytes})
	}
	return all, nil
}

// fileID identifies a file. All hard links to a file have the same fileID.
type fileID struct{ device, inode uint64 }

// NextNightBytes returns the disk space that the next night can need: twice the size of the newest version,
// because the draft begins as a copy, and the night may write all files again. It is 0 before the first night.
func (v *Versions) NextNightBytes() (int64, error) {
	latest, ok, err := v.Latest()
	if err != nil || !ok {
		return 0, err
	}
	size, err := sizeOf(v.folder.VersionPath(latest))
	if err != nil && !errors.Is(err, fs.ErrNotExist) { // CheckLink reports a missing version
		return 0, fmt.Errorf("measure the newest version: %w", err)
	}
	return 2 * size, nil
}

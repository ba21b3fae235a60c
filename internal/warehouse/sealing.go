package warehouse

import (
	"context"
	"io/fs"
	"maps"
	"path/filepath"
	"sync"

	"golang.org/x/sync/errgroup"
)

// sealing syncs the finished files of a draft and takes their checksums while others are
// written: most of its time it waits for the disk.
type sealing struct {
	group errgroup.Group
	once  sync.Once
	mode  fs.FileMode
	// modeErr says why there is no mode.
	modeErr error
	mu      sync.Mutex
	sums    map[string]ManifestFileSum
}

// SealFile sets the rights of a file of the draft, syncs it and takes its checksum, once
// and behind the caller. The file must not be changed any more. Publish and Discard wait.
func (d *Draft) SealFile(name string) {
	s := &d.sealing
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, begun := s.sums[name]; begun {
		return
	}
	if s.sums == nil {
		s.sums = map[string]ManifestFileSum{}
	}
	s.sums[name] = ManifestFileSum{}
	s.group.Go(func() error {
		mode, err := s.modeOf(d)
		if err == nil {
			err = d.w.Folder.setModeAndSync(filepath.Join(d.Dir, name), mode)
		}
		if err != nil {
			return err
		}
		sum, err := sumFile(context.Background(), d.Dir, name)
		s.mu.Lock()
		defer s.mu.Unlock()
		s.sums[name] = sum
		return err
	})
}

// modeOf is the rights of the draft's files, found once.
func (s *sealing) modeOf(d *Draft) (fs.FileMode, error) {
	s.once.Do(func() { s.mode, s.modeErr = d.w.Folder.publicMode(d.Dir) })
	return s.mode, s.modeErr
}

// wait returns the checksums of all files once they are sealed.
func (s *sealing) wait() (map[string]ManifestFileSum, error) {
	err := s.group.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.sums), err
}

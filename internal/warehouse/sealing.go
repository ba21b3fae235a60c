package warehouse

import (
	"context"
	"io/fs"
	"maps"
	"path/filepath"
	"sync"

	"golang.org/x/sync/errgroup"

	"placementsync/internal/checksum"
)

// sealing syncs the finished files of a draft and takes their checksums while other files are
// written. It mostly waits for the disk.
type sealing struct {
	group errgroup.Group
	ctx   context.Context
	// cancel stops the reading of files. It is nil before the first file.
	cancel context.CancelFunc

	findMode sync.Once
	mode     fs.FileMode
	modeErr  error

	mu   sync.Mutex
	sums map[string]checksum.FileSum
}

// maxSealing is the number of files that are sealed at the same time.
const maxSealing = 8

// SealFile sets the mode of a file of the draft, syncs it and takes its checksum in the
// background. Further calls for the same file have no effect. The file must not change any more.
// Publish and Discard wait for it.
func (d *Draft) SealFile(name string) {
	s := &d.sealing
	if !s.isFirst(name) {
		return
	}
	s.group.Go(func() error {
		mode, err := d.publicMode()
		if err == nil {
			err = d.w.Folder.setModeAndSync(filepath.Join(d.Dir, name), mode)
		}
		if err != nil {
			return err
		}
		sum, err := checksum.SumFile(s.ctx, d.Dir, name)
		s.mu.Lock()
		defer s.mu.Unlock()
		s.sums[name] = sum
		return err
	})
}

func (s *sealing) isFirst(name string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.sums == nil {
		s.sums = map[string]checksum.FileSum{}
		s.ctx, s.cancel = context.WithCancel(context.Background())
		s.group.SetLimit(maxSealing)
	}
	if _, ok := s.sums[name]; ok {
		return false
	}
	s.sums[name] = checksum.FileSum{}
	return true
}

// publicMode is the mode of the draft's files. It is determined once.
func (d *Draft) publicMode() (fs.FileMode, error) {
	s := &d.sealing
	s.findMode.Do(func() { s.mode, s.modeErr = d.w.Folder.publicMode(d.Dir) })
	return s.mode, s.modeErr
}

// stop cancels the sealing and waits for its end.
func (s *sealing) stop() {
	if s.cancel != nil {
		s.cancel()
	}
	_ = s.group.Wait() // Publish has reported the error, or the files are not needed
}

// wait returns the checksums of all files when they are sealed.
func (s *sealing) wait() (map[string]checksum.FileSum, error) {
	err := s.group.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.sums), err
}

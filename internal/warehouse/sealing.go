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

// sealing syncs the finished files of a draft and takes their checksums while others are
// written: most of its time it waits for the disk.
type sealing struct {
	group errgroup.Group
	// stop ends what is being summed.
	stop context.CancelFunc
	ctx  context.Context
	once sync.Once
	mode fs.FileMode
	// modeErr says why there is no mode.
	modeErr error
	mu      sync.Mutex
	sums    map[string]checksum.FileSum
}

// SealFile sets the rights of a file of the draft, syncs it and takes its checksum, once
// and behind the caller. The file must not be changed any more. Publish and Discard wait.
func (d *Draft) SealFile(name string) {
	s := &d.sealing
	if !s.begin(name) {
		return
	}
	s.group.Go(func() error {
		mode, err := s.modeOf(d)
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

// sealers is how many files are sealed at once.
const sealers = 8

// begin reports whether a file is to be sealed: it is the first time that it is named.
func (s *sealing) begin(name string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.sums == nil {
		s.sums = map[string]checksum.FileSum{}
		s.ctx, s.stop = context.WithCancel(context.Background())
		s.group.SetLimit(sealers)
	}
	if _, begun := s.sums[name]; begun {
		return false
	}
	s.sums[name] = checksum.FileSum{}
	return true
}

// modeOf is the rights of the draft's files, found once.
func (s *sealing) modeOf(d *Draft) (fs.FileMode, error) {
	s.once.Do(func() { s.mode, s.modeErr = d.w.Folder.publicMode(d.Dir) })
	return s.mode, s.modeErr
}

// discard stops what is being sealed.
func (s *sealing) discard() {
	if s.stop != nil {
		s.stop()
	}
	_ = s.group.Wait() // of files that are no longer wanted, or Publish has reported it
}

// wait returns the checksums of all files once they are sealed.
func (s *sealing) wait() (map[string]checksum.FileSum, error) {
	err := s.group.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.sums), err
}

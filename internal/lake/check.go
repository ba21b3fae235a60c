package lake

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/google/uuid"
)

// Check checks that this catalog owns the lake and that the lake can be written. It writes a
// file and a table, and removes both.
func (l *Lake) Check(ctx context.Context) error {
	if l.files.root != "" {
		if err := l.files.checkAccess(); err != nil {
			return fmt.Errorf("check the lake: write to %s: %w", l.cfg.Warehouse, err)
		}
	}
	lakeTables, err := l.catalog.load(ctx)
	if err == nil {
		_, err = l.checkOwner(lakeTables)
	}
	if err == nil {
		err = l.catalog.checkAccess(ctx)
	}
	if err != nil {
		return fmt.Errorf("check the lake: %w", err)
	}
	return nil
}

// checkAccess writes a file, reads it and removes it. The file is not part of a commit, so it is
// removed from f.uncommitted.
func (f *files) checkAccess() error {
	name, content := f.root+"/check-"+uuid.NewString(), []byte("placementsync\n")
	if err := f.WriteFile(name, content); err != nil {
		return err
	}
	got, err := f.readAll(name)
	if err == nil && !bytes.Equal(got, content) {
		err = errors.New("the file has different content when it is read back")
	}
	f.uncommitted.drain()
	return errors.Join(err, f.Remove(name))
}

//go:build !unix

package trials_test

import (
	"errors"

	"placementsync/internal/pipeline"
)

func (j job) limitDisk(*pipeline.Config) (restore func() error, err error) {
	if j.MaxFileBytes > 0 {
		return nil, errors.New("limit the size of files: not possible on this system")
	}
	return func() error { return nil }, nil
}

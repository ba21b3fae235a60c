//go:build !unix

package trials_test

import (
	"testing"

	"placementsync/internal/pipeline"
)

func (j job) limitDisk(t *testing.T, _ *pipeline.Config) (restore func()) {
	if j.MaxFileBytes > 0 {
		t.Skip("this system cannot limit the size of files")
	}
	return func() {}
}

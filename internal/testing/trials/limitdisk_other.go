//go:build !unix

package trials

import "errors"

// limitDisk returns an error if the job requires a limit, because this system cannot limit the size of files.
func (j Job) limitDisk() (restore func() error, err error) {
	if j.MaxFileBytes > 0 {
		return nil, errors.New("limit the size of files: not possible on this system")
	}
	return func() error { return nil }, nil
}

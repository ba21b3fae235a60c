package warehouse

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"syscall"
)

// FullError says that the disk of the warehouse took no more.
type FullError struct {
	Dir string
	Err error
}

func (e *FullError) Error() string {
	return fmt.Sprintf("write into %q: the disk is full or a quota is used up: make room, then run again to resume; "+
		"what has landed and the last snapshot are kept: %s", e.Dir, firstLine(e.Err.Error()))
}

// Unwrap returns what met the full disk.
func (e *FullError) Unwrap() error { return e.Err }

// Full makes a *FullError of an error that a full disk has caused, and leaves
// any other as it is. DuckDB tells of it in words alone.
func (w *Warehouse) Full(err error) error {
	var told *FullError
	if err == nil || errors.As(err, &told) {
		return err
	}
	for _, cause := range []syscall.Errno{syscall.ENOSPC, syscall.EDQUOT, syscall.EFBIG} {
		words := []string{cause.Error(), strings.ToUpper(cause.Error()[:1]) + cause.Error()[1:]}
		if errors.Is(err, cause) || slices.ContainsFunc(words, func(text string) bool { return strings.Contains(err.Error(), ": "+text) }) {
			return &FullError{w.cfg.Dir, err}
		}
	}
	return err
}

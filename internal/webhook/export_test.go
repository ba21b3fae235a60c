package webhook

import (
	"io"
	"time"

	"placementsync/internal/durable"
)

// IsSigned exports isSigned, with the signing keys of secrets.
func IsSigned(secrets []string, header string, body []byte) bool {
	keys, err := signingKeys(secrets)
	return err == nil && isSigned(keys, header, body)
}

// MemoryBudget exports memoryBudget.
type MemoryBudget struct{ budget *memoryBudget }

func NewMemoryBudget(bytes int64) MemoryBudget { return MemoryBudget{&memoryBudget{free: bytes}} }

func (b MemoryBudget) NewBody(from io.Reader, conn readDeadliner) Body {
	return Body{&bodyReader{budget: b.budget, from: from, conn: conn}}
}

// Body exports bodyReader.
type Body struct{ *bodyReader }

func (b Body) Protect() bool { return b.protect() }

func (b Body) Release() { b.release() }

// Segment exports openSegment.
type Segment struct{ *openSegment }

func NewSegment(dir string, now time.Time) (Segment, error) {
	s, err := newSegment(durable.Disk{}, dir, now)
	return Segment{s}, err
}

// CloseFile closes the file of a segment to make Seal fail.
func (s Segment) CloseFile() error { return s.file.Close() }

func (s Segment) Seal() error { return s.seal() }

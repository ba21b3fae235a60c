package webhook

import (
	"io"
	"time"

	"placementsync/internal/durable"
)

// Signed checks a signature header as the receiver does.
func Signed(secrets []string, header string, body []byte) bool {
	keys, err := signingKeys(secrets)
	return err == nil && isSigned(keys, header, body)
}

// Bodies is the memory that a receiver has for bodies.
type Bodies struct{ all *memoryBudget }

// NewBodies makes one of so many bytes.
func NewBodies(room int64) Bodies { return Bodies{&memoryBudget{free: room}} }

// Enter begins a body.
func (b Bodies) Enter(from io.Reader, cut func()) Body {
	return Body{&body{budget: b.all, from: from, endRead: cut}}
}

// Body is the body of a delivery.
type Body struct{ *body }

// Whole ends the arrival.
func (b Body) Whole() bool { return b.markWhole() }

// Leave gives the memory back.
func (b Body) Leave() { b.release() }

// Segment is one that is written to.
type Segment struct{ *segment }

// BeginSegment makes one.
func BeginSegment(dir string, now time.Time) (Segment, error) {
	s, err := newSegment(durable.Disk{}, dir, now)
	return Segment{s}, err
}

// CloseFile closes the file of a segment, so that sealing it fails.
func (s Segment) CloseFile() error { return s.file.Close() }

// Seal closes it for good.
func (s Segment) Seal() error { return s.seal() }

package webhook

import (
	"io"
	"time"

	"placementsync/internal/durable"
)

// Signed checks a signature header as the receiver does.
func Signed(secrets []string, header string, body []byte) bool {
	keys, err := keysOf(secrets)
	return err == nil && signed(keys, header, body)
}

// Bodies is the room that a receiver has.
type Bodies struct{ all *bodies }

// NewBodies is a room of so many bytes.
func NewBodies(room int64) Bodies { return Bodies{newBodies(room)} }

// Enter begins a body.
func (b Bodies) Enter(from io.Reader, cut func()) Body { return Body{b.all.enter(from, cut)} }

// Body is one that arrives.
type Body struct{ *body }

// Whole ends the arrival.
func (b Body) Whole() bool { return b.whole() }

// Leave gives the room back.
func (b Body) Leave() { b.leave() }

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

package webhook

import "io"

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

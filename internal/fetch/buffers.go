package fetch

import "sync"

// bufferPool keeps buffers for reuse, except those of large bodies: these would occupy memory
// for the whole run.
type bufferPool struct{ pool sync.Pool }

func (p *bufferPool) get() *[]byte {
	if b, ok := p.pool.Get().(*[]byte); ok {
		return b
	}
	return new([]byte)
}

func (p *bufferPool) put(b *[]byte) {
	if cap(*b) <= largeBody {
		*b = (*b)[:0]
		p.pool.Put(b)
	}
}

package fetch

import "sync"

// maxPooled is the size in bytes above which a buffer is not reused: it would occupy memory
// for the whole run.
const maxPooled = 8 << 20

// bufferPool keeps buffers for reuse.
type bufferPool struct{ pool sync.Pool }

func (p *bufferPool) get() *[]byte {
	if b, ok := p.pool.Get().(*[]byte); ok {
		return b
	}
	return new([]byte)
}

func (p *bufferPool) put(b *[]byte) {
	if cap(*b) <= maxPooled {
		*b = (*b)[:0]
		p.pool.Put(b)
	}
}

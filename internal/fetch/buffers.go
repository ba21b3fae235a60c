package fetch

import "sync"

// maxPooled is the size in bytes beyond which a buffer is not kept for later use: it would
// stay in memory for the whole run.
const maxPooled = 8 << 20

// bufferPool holds buffers for later use.
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

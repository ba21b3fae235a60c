package sim

import (
	"math/rand/v2"
	"slices"
	"strconv"
)

// comment is a remark on an article, or a reply to one. Replies have none.
type comment struct {
	n                uint32 // its number on the article
	author           int    // position in people
	text             string
	created, updated int64
	replies          []comment
}

// discuss lets people comment on an article: a remark, a reply, a correction,
// or the archiving of an old remark.
func (w *world) discuss(r *rand.Rand, a *article) {
	chance := r.IntN(100)
	if chance < 12 {
		a.comments = append(a.comments, w.newComment(r, a))
		return
	}
	if len(a.comments) == 0 || chance >= 24 {
		return
	}
	i := r.IntN(len(a.comments))
	c := &a.comments[i]
	switch {
	case chance < 18:
		c.replies = append(c.replies, w.newComment(r, a))
	case chance < 22:
		c.text += " (edited)"
		c.updated = w.touch(r, c.updated)
	default:
		a.comments = slices.Delete(a.comments, i, i+1)
	}
}

// newComment is a remark or a reply that is made today.
func (w *world) newComment(r *rand.Rand, a *article) comment {
	at := w.touch(r, a.created)
	a.commentCount++
	return comment{
		n: a.commentCount, author: r.IntN(len(people())), text: pick(remarks(), r.Uint64()),
		created: at, updated: at,
	}
}

// commentRef is a comment's short reference, which is no UUID.
func (w *world) commentRef(a *article, n uint32) string {
	short := w.seed.roll(kindComment, a.n, 0) % 46_656 // three digits in base 36
	return "c" + strconv.FormatUint(short, 36) + "-" + strconv.Itoa(int(n))
}

// comments are the items of GET /articles/{id}/comments.
func (w *world) comments(n uint32) view {
	a := &w.articles[n]
	return view{
		order: sequence(len(a.comments)),
		render: func(e *enc, i uint32) {
			e.record = w.seed.roll(kindComment, a.n, uint64(a.comments[i].n))
			e.escape = false
			w.comment(e, a, &a.comments[i], 0)
		},
	}
}

// comment writes a comment; one with a parent is a reply and has no replies.
func (w *world) comment(e *enc, a *article, c *comment, parent uint32) {
	p := people()[c.author]
	e.b = append(e.b, '{')
	e.str("id", w.commentRef(a, c.n))
	e.str("content", c.text)
	e.obj("author")
	e.str("name", fullName(p))
	if c.author%3 == 0 {
		e.null("email")
	} else {
		e.str("email", "writer"+strconv.Itoa(c.author)+"@example.com")
	}
	e.end()
	e.when("created_at", c.created)
	e.when("updated_at", c.updated)
	if parent == 0 {
		e.null("parent_comment_id")
		e.arr("replies")
		for i := range c.replies {
			w.comment(e, a, &c.replies[i], c.n)
		}
		e.close(']')
	} else {
		e.str("parent_comment_id", w.commentRef(a, parent))
	}
	e.end()
}

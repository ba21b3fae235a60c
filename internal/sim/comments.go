package sim

import (
	"math/rand/v2"
	"slices"
	"strconv"
)

// comment is a comment on an article, or a reply to a comment. Replies have no replies.
type comment struct {
	n                uint32 // number of the comment within the article
	author           int    // index in people
	text             string
	created, updated int64
	replies          []comment
}

func (s *articles) discussArticle(r *rand.Rand, a *article) {
	chance := r.IntN(100)
	if chance < 12 {
		a.comments = append(a.comments, s.newComment(r, a))
		return
	}
	if len(a.comments) == 0 || chance >= 24 {
		return
	}
	i := r.IntN(len(a.comments))
	c := &a.comments[i]
	switch {
	case chance < 18:
		c.replies = append(c.replies, s.newComment(r, a))
	case chance < 22:
		c.text += " (edited)"
		c.updated = s.drawLater(r, c.updated)
	default:
		a.comments = slices.Delete(a.comments, i, i+1)
	}
}

func (s *articles) newComment(r *rand.Rand, a *article) comment {
	at := s.drawLater(r, a.created)
	a.newestComment++
	return comment{
		n: a.newestComment, author: r.IntN(len(s.words.people)), text: pick(s.words.remarks, r.Uint64()),
		created: at, updated: at,
	}
}

// The id of a comment is not a UUID.
func commentID(s seed, article, n uint32) string {
	short := s.roll(kindComment, article, 0) % 46_656 // three digits in base 36
	return "c" + strconv.FormatUint(short, 36) + "-" + strconv.Itoa(int(n))
}

func (s *articles) commentView(n uint32) view {
	a := &s.all[n]
	return view{
		numbers: countTo(len(a.comments)),
		render: func(e *enc, i uint32) {
			e.roll = s.seed.roll(kindComment, a.n, uint64(a.comments[i].n))
			e.escape = false
			writeComment(e, a, &a.comments[i], 0)
		},
	}
}

// writeComment writes a comment. parent is the number of the comment to which it replies, or 0.
func writeComment(e *enc, a *article, c *comment, parent uint32) {
	p := e.words.people[c.author]
	e.b = append(e.b, '{')
	e.str("id", commentID(e.seed, a.n, c.n))
	e.str("content", c.text)
	e.obj("author")
	e.str("name", fullName(p))
	if c.author%3 == 0 && !e.realistic {
		e.null("email")
	} else {
		e.str("email", e.either("writer"+strconv.Itoa(c.author), slug(p.first))+"@example.com")
	}
	e.end()
	e.times(c.created, c.updated)
	if parent == 0 {
		e.null("parent_comment_id")
		e.arr("replies")
		for i := range c.replies {
			writeComment(e, a, &c.replies[i], c.n)
		}
		e.close(']')
	} else {
		e.str("parent_comment_id", commentID(e.seed, a.n, parent))
	}
	e.end()
}

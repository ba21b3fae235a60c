package fetch

import (
	"bytes"
	"fmt"
	"net/http"

	"placementsync/internal/charset"
)

// convertCharset converts the body to UTF-8, if the response declares another charset. The body is then stored
// in UTF-8, because a stored response has no place for the charset.
func (s *sender) convertCharset(q *call, h http.Header) error {
	declared := charset.Declared(h.Get("Content-Type"))
	if declared == nil {
		return nil
	}
	body, err := declared.NewDecoder().Bytes(q.Body)
	if err != nil {
		return fmt.Errorf("%w: it is not in the charset that it declares: %w", ErrMalformed, err)
	}
	if int64(len(body)) > s.cfg.MaxBody {
		return fmt.Errorf("%w: in UTF-8 it has more than %d bytes", ErrTooLarge, s.cfg.MaxBody)
	}
	q.Body, q.Compressed, q.Encoding = body, nil, plain
	return nil
}

// skipMark returns a body without the byte order mark at its beginning, which RFC 8259, section 8.1, lets a
// reader ignore.
func skipMark(body []byte) []byte { return bytes.TrimPrefix(body, []byte("\ufeff")) }

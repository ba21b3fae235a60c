package fetch

import (
	"errors"
	"os"
)

// Checked is what CheckLanding found.
type Checked struct {
	// Answers were read, Bytes of them as they are stored.
	Answers int
	Bytes   int64
	// Damaged counts lines of the journal and bodies that differ from what was landed.
	Damaged int
}

// CheckLanding reads every answer of a landing and changes nothing. A torn last line is
// no damage: a killed run can write one.
func CheckLanding(dir string) (c Checked, err error) {
	l := &Landing{dir: dir}
	defer func() { err = errors.Join(err, l.closeFiles()) }()
	if l.opener, err = newOpener(); err != nil {
		return c, err
	}
	if err := l.openFiles(os.O_RDONLY); err != nil {
		return c, l.landingErr(err)
	}
	end, err := size(l.journal)
	if err != nil {
		return c, l.landingErr(err)
	}
	var body []byte
	for s, err := range l.readLines(end) {
		if err != nil {
			return c, l.landingErr(err)
		}
		if s.ok {
			c.Answers++
			if s.Same == 0 {
				c.Bytes += int64(s.Stored)
			}
			body, err = l.loadBody(s.toEntry(), body)
		}
		torn := s.end == end && len(s.text) > 0 && s.text[len(s.text)-1] != '\n'
		if err != nil || !s.ok && !torn {
			c.Damaged++
		}
	}
	return c, nil
}

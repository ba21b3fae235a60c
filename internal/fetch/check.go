package fetch

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Checked is what CheckLanding found.
type Checked struct {
	// Answers were read, Bytes of them as they are stored.
	Answers int
	Bytes   int64
	// Damaged counts lines of the journal and bodies that are not what was landed.
	Damaged int
}

// CheckLanding reads every answer of a landing, and changes nothing of it. A last line
// that is torn is no damage: a killed run leaves it.
func CheckLanding(dir string) (c Checked, err error) {
	l := &Landing{dir: dir}
	defer func() { err = errors.Join(err, l.closeFiles()) }()
	if l.opener, err = newOpener(); err != nil {
		return c, err
	}
	if err := l.openToRead(); err != nil {
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
			c.Bytes += int64(s.Stored)
			body, err = l.loadChecked(s.toEntry(), body)
		}
		torn := s.end == end && len(s.text) > 0 && s.text[len(s.text)-1] != '\n'
		if err != nil || !s.ok && !torn {
			c.Damaged++
		}
	}
	return c, nil
}

func (l *Landing) loadChecked(e entry, buffer []byte) ([]byte, error) {
	if int(e.segment) >= len(l.segments) {
		return buffer, fmt.Errorf("segment %d: %w", e.segment+1, fs.ErrNotExist)
	}
	return l.loadBody(e, buffer)
}

// openToRead opens what there is.
func (l *Landing) openToRead() (err error) {
	if l.journal, err = os.Open(filepath.Join(l.dir, journalName)); err != nil {
		return err
	}
	for {
		f, err := os.Open(l.segmentPath(len(l.segments)))
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		l.segments = append(l.segments, f)
	}
}

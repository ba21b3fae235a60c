package query

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"placementsync/internal/durable"
)

// Copy is a query of the user to be saved as a copy of another query.
type Copy struct {
	Name, Title string
	// Values replace the defaults of parameters.
	Values map[string]string
}

// SaveCopy writes a copy of a query as a file in dir, the folder of the user's queries. It does not
// overwrite a file. An invalid name, title or value is a *UsageError.
func (l Library) SaveCopy(dir string, q Query, c Copy) error {
	const maxName, maxTitle = 100, 200 // bytes
	if !simpleName.MatchString(c.Name) || len(c.Name) > maxName {
		return &UsageError{Problem: fmt.Sprintf("%q is not a name of a query: use up to %d letters a to z, digits and _", c.Name, maxName)}
	}
	isTitle := utf8.ValidString(c.Title) && !strings.ContainsFunc(c.Title, unicode.IsControl)
	if strings.TrimSpace(c.Title) == "" || !isTitle || len(c.Title) > maxTitle {
		return &UsageError{Problem: fmt.Sprintf("%q is not a title: use one line of up to %d bytes", c.Title, maxTitle)}
	}
	isUsed := slices.ContainsFunc(l.queries, func(other Query) bool { return strings.EqualFold(other.Name, c.Name) })
	if isUsed {
		return &UsageError{Problem: fmt.Sprintf("a query is already named %q: choose another name", c.Name)}
	}
	text := q.copyText(c)
	written, faults := parseFile(Query{Name: c.Name}, text)
	if len(faults) > 0 {
		return &UsageError{Problem: strings.Join(formatFaults(c.Name+queryExtension, faults), "\n")}
	}
	for name, value := range c.Values {
		if p, _ := written.Param(name); p.Default != value {
			return &UsageError{Problem: fmt.Sprintf("%q cannot be a default of the parameter %q: choose another value", value, name)}
		}
	}
	file := filepath.Join(dir, c.Name+queryExtension)
	const fileMode = 0o644
	err := durable.Disk{}.CreateFile(file, []byte(text), fileMode, nil)
	if errors.Is(err, fs.ErrExist) {
		return &UsageError{Problem: fmt.Sprintf("the file %s already exists: choose another name", file)}
	}
	return err
}

// copyText returns the SQL with the title and the defaults of a copy in its header.
func (q Query) copyText(c Copy) string {
	var b strings.Builder
	isHeader := true
	for line := range strings.Lines(q.SQL) {
		trimmed := strings.TrimSpace(line)
		isComment := trimmed == "" || strings.HasPrefix(trimmed, "--")
		isHeader = isHeader && isComment
		m := headerLine.FindStringSubmatch(trimmed)
		if !isHeader || m == nil {
			b.WriteString(line)
			continue
		}
		switch m[1] {
		case "title":
			line = "-- title: " + strings.TrimSpace(c.Title) + "\n"
		case "replacement":
			line = ""
		case "param":
			p, err := parseParam(strings.TrimSpace(m[2]))
			value, isGiven := c.Values[p.Name]
			if err == nil && isGiven {
				line = "-- param: " + p.withDefault(value) + "\n"
			}
		}
		b.WriteString(line)
	}
	return strings.TrimRight(b.String(), "\n") + "\n"
}

// withDefault returns the text of a parameter in a header, with another default.
func (p Param) withDefault(value string) string {
	kind := p.Type
	// A parameter with the default NULL accepts NULL. With another default it needs ? to accept NULL.
	losesNull := p.Default == nullText && value != nullText
	if p.Nullable || losesNull {
		kind += "?"
	}
	if strings.ContainsAny(value, " '") {
		value = "'" + strings.ReplaceAll(value, "'", "''") + "'"
	}
	return fmt.Sprintf("%s %s %s -- %s", p.Name, kind, value, p.About)
}

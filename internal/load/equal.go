package load

import (
	"bytes"
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"placementsync/internal/sqltext"
	"placementsync/internal/stream"
)

// A row with another fingerprint is unchanged if its values mean the same as the stored values: the members of a
// JSON value are in another order, or a URL has a new signature. Such rows are read only if a column of this
// kind differs. No version is written. The stored row stays as it is if only the order differs. With other signatures or
// ignored values, it gets the new values and their fingerprint: a stored URL can be expired.

// dropEqual removes the rows from the changed keys that mean the same as the stored rows, and corrects the counts.
func (m *merge) dropEqual(ctx context.Context, tables []stream.Table, changes []Change) error {
	for i, t := range tables {
		if changes[i].Changed == 0 {
			continue
		}
		count, err := m.dropEqualIn(ctx, t)
		if err != nil {
			return fmt.Errorf("compare the values of %s: %w", t.Name, err)
		}
		changes[i].Changed -= count
	}
	return nil
}

func (m *merge) dropEqualIn(ctx context.Context, t stream.Table) (int64, error) {
	columns := m.draft.Schema.Definitions[t.Name].Columns
	loose := m.looseColumns(t)
	others := slices.DeleteFunc(slices.Clone(columns), func(c stream.Column) bool {
		return slices.ContainsFunc(loose, func(l looseColumn) bool { return l.Name == c.Name })
	})
	if len(loose) == 0 {
		return 0, nil
	}
	stored, desired := m.storedAndDesired(t)
	sameStored, sameDesired := joinOn("c.", "m.", t.Key), joinOn("c.", "w.", t.Key)
	renderLoose := func(statement, separator string) sqlText {
		return sqltext.Join(loose, separator, func(c looseColumn) sqlText {
			return mergeSQL.Render(statement, values{"column": sqltext.Name(c.Name)})
		})
	}
	othersEqual := sqltext.Join(others, " AND ", func(c stream.Column) sqlText {
		return mergeSQL.Render("same_value", values{"column": sqltext.Name(c.Name)})
	})
	maybeEqual, equal := stagedTable(changedKeysSchema, maybeEqualName), stagedTable(changedKeysSchema, equalName)
	err := m.draft.Exec(ctx, mergeSQL.Render("find_maybe_equal", values{"maybe_equal": maybeEqual, "equal": equal, "key": prefixed("c.", t.Key),
		"changed_keys": changedKeysTable(t.Name), "stored": stored, "desired": desired, "same_stored": sameStored, "same_desired": sameDesired,
		"differs": renderLoose("text_differs", " OR ")}))
	if err != nil {
		return 0, err
	}
	if found, err := hasRows(ctx, m.draft, maybeEqual); err != nil || !found {
		return 0, err
	}
	count, replaced, err := m.stageEqual(ctx, loose, mergeSQL.Render("read_maybe_equal", values{"maybe_equal": maybeEqual, "main": mainTable(t.Name),
		"desired": desired, "same_stored": sameStored, "same_desired": sameDesired,
		"texts": renderLoose("stored_and_desired_text", ", "), "others_equal": othersEqual}))
	if err != nil || count == 0 {
		return 0, err
	}
	var statements []sqlText
	if replaced > 0 {
		statements = append(statements, mergeSQL.Render("find_replaced", values{"replaced": replacedTable(t.Name), "key": sqltext.Names(t.Key),
			"changed_keys": changedKeysTable(t.Name), "equal": equal}))
		m.replaced[t.Name] += replaced
		m.hasReplaced[t.Name] = true
	}
	return count, m.draft.Exec(ctx, append(statements, mergeSQL.Render("drop_equal", values{"changed_keys": changedKeysTable(t.Name), "equal": equal}))...)
}

// stageEqual stages the row ids of changed keys whose rows are equal. It returns their number, and the number of those
// that get new values. query returns for each row its id, and the stored and the desired text of each column.
func (m *merge) stageEqual(ctx context.Context, columns []looseColumn, query sqlText) (count, replaced int64, err error) {
	batch := rowBatch{stage: m.Stage, schema: changedKeysSchema, table: equalName}
	var id int64
	texts := make([]sql.NullString, 2*len(columns))
	cells := []any{&id}
	for i := range texts {
		cells = append(cells, &texts[i])
	}
	err = m.draft.EachRow(ctx, []sqlText{query}, func(scan func(...any) error) error {
		if err := scan(cells...); err != nil {
			return err
		}
		isReplaced := false
		for i, c := range columns {
			result, err := c.compare(texts[2*i], texts[2*i+1])
			if err != nil || result == different {
				return err
			}
			isReplaced = isReplaced || result == newSignature
		}
		count++
		if isReplaced {
			replaced++
		}
		return batch.add(ctx, id, isReplaced)
	})
	if err != nil {
		return 0, 0, err
	}
	if err := batch.insert(ctx); err != nil {
		return 0, 0, err
	}
	return count, replaced, m.flush(ctx, allStreams)
}

// looseColumn is a column whose values can be equal although their texts differ.
type looseColumn struct {
	stream.Column
	isIgnored bool
	ignored   []string // dotted paths of members of a JSON column
}

func (s *Stage) looseColumns(t stream.Table) (loose []looseColumn) {
	for _, c := range s.draft.Schema.Definitions[t.Name].Columns {
		paths, isNamed := s.ignored[t.Name][c.Name]
		if isNamed || c.Type == stream.JSON || isURLColumn(c) {
			loose = append(loose, looseColumn{Column: c, isIgnored: isNamed && len(paths) == 0, ignored: paths})
		}
	}
	return loose
}

// comparison is the result of comparing two values of a looseColumn.
type comparison int

const (
	different    comparison = iota
	newSignature            // the same content with another signature or ignored value
	sameContent
)

func (c looseColumn) compare(stored, desired sql.NullString) (comparison, error) {
	haveValues := stored.Valid && desired.Valid
	switch {
	case stored == desired:
		return sameContent, nil
	case c.isIgnored:
		return newSignature, nil
	case c.Type == stream.JSON && (haveValues || len(c.ignored) > 0): // without the ignored members, NULL can be equal
		return c.compareJSON(stored, desired)
	case c.Type == stream.Text && haveValues:
		hasToken := isFileName(c.Name)
		if withoutSignature(stored.String, hasToken) == withoutSignature(desired.String, hasToken) {
			return newSignature, nil
		}
	}
	return different, nil
}

func (c looseColumn) compareJSON(stored, desired sql.NullString) (comparison, error) {
	isEqual, err := c.areEqual(canonicalForm{keepsSignatures: true}, stored, desired)
	if err != nil {
		return different, err
	}
	if isEqual {
		return sameContent, nil
	}
	isEqual, err = c.areEqual(canonicalForm{ignored: c.ignored}, stored, desired)
	if err != nil || !isEqual {
		return different, err
	}
	return newSignature, nil
}

func (c looseColumn) areEqual(form canonicalForm, stored, desired sql.NullString) (bool, error) {
	storedText, err := form.write(stored, c.Name)
	if err != nil {
		return false, fmt.Errorf("read the stored value of %s: %w", c.Name, err)
	}
	desiredText, err := form.write(desired, c.Name)
	if err != nil {
		return false, fmt.Errorf("read the new value of %s: %w", c.Name, err)
	}
	return storedText == desiredText, nil
}

// canonicalForm is a text that is equal for two JSON values if they differ only in the order of the members of objects
// and of the items of lists. Numbers keep their digits. A list of numbers keeps its order, because it may be a pair of
// coordinates. NULL is the object without members.
type canonicalForm struct {
	keepsSignatures bool     // of URLs
	ignored         []string // dotted paths of members to leave out
}

func (f canonicalForm) write(text sql.NullString, name string) (string, error) {
	if !text.Valid {
		return "{}", nil
	}
	d := jsontext.NewDecoder(bytes.NewBufferString(text.String), jsontext.AllowDuplicateNames(true))
	return f.read(d, name)
}

// read reads one value: a member of the given name, or an item of such a member.
func (f canonicalForm) read(d *jsontext.Decoder, name string) (string, error) {
	kind := d.PeekKind()
	if kind == '"' {
		token, err := d.ReadToken()
		content := token.String()
		if !f.keepsSignatures {
			content = withoutSignature(content, isFileName(name))
		}
		return strconv.Quote(content), err
	}
	if kind != '{' && kind != '[' {
		value, err := d.ReadValue()
		return string(value), err
	}
	if _, err := d.ReadToken(); err != nil {
		return "", err
	}
	var parts []string
	keepsOrder := kind == '['
	for d.PeekKind() != '}' && d.PeekKind() != ']' {
		prefix, inner := "", f
		if kind == '{' {
			token, err := d.ReadToken()
			if err != nil {
				return "", err
			}
			name = token.String()
			inner.ignored = membersBelow(f.ignored, name)
			if slices.Contains(inner.ignored, "") {
				if err := d.SkipValue(); err != nil {
					return "", err
				}
				continue
			}
			prefix = strconv.Quote(name) + ":"
		}
		keepsOrder = keepsOrder && d.PeekKind() == '0'
		part, err := inner.read(d, name)
		if err != nil {
			return "", err
		}
		parts = append(parts, prefix+part)
	}
	end, err := d.ReadToken()
	if err != nil {
		return "", err
	}
	if !keepsOrder {
		slices.Sort(parts)
	}
	return kind.String() + strings.Join(parts, ",") + end.String(), nil
}

// membersBelow returns the paths that begin with the member of a name, without this member. The path of the member
// itself becomes "".
func membersBelow(paths []string, name string) (below []string) {
	for _, path := range paths {
		if rest, found := strings.CutPrefix(path, name); found && (rest == "" || rest[0] == '.') {
			below = append(below, strings.TrimPrefix(rest, "."))
		}
	}
	return below
}

func isURLColumn(c stream.Column) bool {
	return c.Type == stream.Text && (c.Name == "url" || strings.HasSuffix(c.Name, "_url") || isFileName(c.Name))
}

func isFileName(name string) bool {
	return name == "file_url" || name == "logo" || strings.HasSuffix(name, "_logo")
}

// withoutSignature returns a URL without the parameters that sign it for a short time. A parameter "token" is
// one only in the address of a file or logo.
func withoutSignature(url string, hasToken bool) string {
	address, query, hasQuery := strings.Cut(url, "?")
	if !hasQuery || !strings.Contains(address, "://") {
		return url
	}
	query, fragment, _ := strings.Cut(query, "#")
	kept := slices.DeleteFunc(strings.Split(query, "&"), func(parameter string) bool {
		name, _, _ := strings.Cut(parameter, "=")
		isSigned := strings.HasPrefix(name, "X-Amz-") || strings.HasPrefix(name, "X-Goog-")
		return isSigned || slices.Contains([]string{"Expires", "Signature", "sig", "se"}, name) || hasToken && name == "token"
	})
	return address + "?" + strings.Join(kept, "&") + "#" + fragment
}

// comparedColumns returns the columns with which stored rows are compared with staged rows.
func (s *Stage) comparedColumns(t stream.Table) sqlText {
	names := append(slices.Clone(t.Key), stream.RowHash)
	def := s.draft.Schema.Definitions[t.Name]
	for _, key := range def.ItemKeys {
		names = append(names, key...)
	}
	for _, c := range s.looseColumns(t) {
		names = append(names, c.Name)
	}
	slices.Sort(names)
	return sqltext.Names(slices.Compact(names))
}

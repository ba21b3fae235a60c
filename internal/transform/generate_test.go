package transform_test

import (
	"fmt"
	"math/rand/v2"
	"strings"

	"placementsync/internal/stream"
)

// values are JSON values that the service may send in any field.
var values = []string{
	`null`, `true`, `false`, `""`, `"x"`, `"true"`, `"No"`, `0`, `1`, `-0`, `7`, `"7"`, `7.0`, `7e0`, `7.5`, `-3`,
	`9007199254740993`, `9223372036854775807`, `9223372036854775808`, `-9223372036854775808`, `2147483648`, `1e400`, `1e-400`,
	`149.99`, `149.99999999999997`, `"239.86784"`, `999999999999.9999995`, `-0.0000005`, `"abc"`, `"007"`,
	`"2026-03-01T12:34:56Z"`, `"2026-03-01 12:34:56.123456789+02:00"`, `"2026-03-01"`, `"2026-02-30"`, `"0001-01-01T00:00:00+05"`,
	`"Unlimited"`, `"2 links"`, `" 10 "`, `"WEBSITE"`, `"."`, `".."`, `"\ud83d\ude00 \uD83D\uDE01!"`, `"\ude00\ud83d"`, `"caf\u00e9 \ud83d\ude00 \ud800 \\ \/ \n"`, `"é—"`, "\"\xff\"",
	`"usd"`, `1767225600`, `"1767225600000"`, `"20260301T123456,5 UTC"`, `"2026-060T24:00"`, `"2026-W10-7T12.25z"`,
	`"{a,\"b, c\",NULL}"`, `"{}"`, `"[\"a\",{\"name\":\"b\"}]"`, `"{\"id\":\"i\",\"name\":\"n\"}"`,
	`[]`, `{}`, `[1]`, `["a",{"name":"b"},null,3,true,[4]]`, `{"name":"n"}`, `{"id":"i","name":"n","zz":{"b":1,"a":[]}}`, `[{"id":"1"},{"id":"2"}]`,
}

// recordGenerator generates random records of a stream. Most are plausible. Fields are in any
// order, flat or nested, sometimes duplicate, and may have any value.
type recordGenerator struct {
	*rand.Rand
	stream stream.Stream
	defs   map[string]stream.Definition
}

func (g *recordGenerator) body() []byte {
	var records []string
	for i := range 1 + g.IntN(4) {
		repeatsID := g.IntN(12) == 11 // the record has the id of the record before
		if repeatsID {
			i--
		}
		records = append(records, g.record(0, fmt.Sprintf("r%d", i)))
	}
	return []byte("[" + strings.Join(records, g.space()+",") + "]")
}

func (g *recordGenerator) space() string {
	return []string{"", "", "", " ", "\n\t"}[g.IntN(5)]
}

func (g *recordGenerator) value() string { return values[g.IntN(len(values))] }

func (g *recordGenerator) record(tableIndex int, id string) string {
	t := g.stream.Tables[tableIndex]
	var members []string
	if g.IntN(12) > 0 {
		members = append(members, fmt.Sprintf(`"id":%q`, id))
	}
	for _, c := range g.defs[t.Name].Columns {
		if tableIndex == 0 && c.Name == g.stream.Param && g.IntN(3) > 0 {
			members = append(members, nest([]string{c.Name}, `"p"`))
		} else if c.Name != "id" && g.IntN(3) > 0 {
			members = append(members, g.member(c.Name))
		}
	}
	for range g.IntN(3) {
		members = append(members, fmt.Sprintf(`"%s":%s`, []string{"zz", "\\u007ay", "a b", "extra", "id"}[g.IntN(5)], g.value()))
	}
	for childIndex, child := range g.stream.Tables {
		if path, ok := g.listPath(t.At, child.At); ok && childIndex != tableIndex && g.IntN(4) > 0 {
			members = append(members, g.list(path, childIndex))
		}
	}
	if g.IntN(3) == 0 {
		g.Shuffle(len(members), func(i, j int) { members[i], members[j] = members[j], members[i] })
	}
	if g.IntN(6) == 0 && len(members) > 0 {
		members = append(members, members[g.IntN(len(members))])
	}
	return "{" + g.space() + strings.Join(members, ","+g.space()) + "}"
}

// listPath returns the path of a list within the rows of a table, from their paths within the record. ok
// is false if the rows do not contain the list.
func (g *recordGenerator) listPath(rowsAt, listAt string) (path string, ok bool) {
	if rowsAt != "" {
		rowsAt += "."
	}
	path, ok = strings.CutPrefix(listAt, rowsAt)
	return path, ok && path != ""
}

func (g *recordGenerator) list(path string, childIndex int) string {
	var items []string
	for i := range g.IntN(4) {
		if g.IntN(5) == 0 {
			items = append(items, g.value())
		} else {
			items = append(items, g.record(childIndex, fmt.Sprintf("c%d", i)))
		}
	}
	return nest(strings.Split(path, "."), "["+strings.Join(items, ",")+"]")
}

// member writes a random value for a column: flat, or in an object named after the first word of the
// column.
func (g *recordGenerator) member(column string) string {
	if head, rest, ok := strings.Cut(column, "_"); ok && rest != "" && g.IntN(4) == 0 {
		return nest([]string{head, rest}, g.value())
	}
	return nest([]string{column}, g.value())
}

func nest(path []string, value string) string {
	if len(path) == 1 {
		return fmt.Sprintf("%q:%s", path[0], value)
	}
	return fmt.Sprintf("%q:{%s}", path[0], nest(path[1:], value))
}

package config

import (
	"cmp"
	"reflect"
	"slices"
	"strings"
)

// suggest returns the path of the known key that an unknown one in section was
// probably meant to be, or "". Of two equally near, the one of the section wins.
func suggest(section, unknown string) string {
	known := keyPaths(reflect.TypeFor[Config](), "")
	rank := func(path string) int {
		d := 2 * distance(strings.ToLower(unknown), lastSegment(path))
		if parentPath(path) != section {
			d++
		}
		return d
	}
	best := slices.MinFunc(known, func(a, b string) int { return cmp.Compare(rank(a), rank(b)) })
	if rank(best) > 2*max(1, len(unknown)/3)+1 {
		return ""
	}
	return best
}

func lastSegment(path string) string { return path[strings.LastIndexByte(path, '.')+1:] }

// keyPaths lists the path of every key below t, sections included.
func keyPaths(t reflect.Type, prefix string) []string {
	var paths []string
	for key, field := range fields(t) {
		path := joinPath(prefix, key)
		paths = append(paths, path)
		if field.Type.Kind() == reflect.Struct {
			paths = append(paths, keyPaths(field.Type, path)...)
		}
	}
	return paths
}

// keysOf lists the keys of the section at path, "" being the file itself.
func keysOf(path string) []string {
	var keys []string
	for _, known := range keyPaths(reflect.TypeFor[Config](), "") {
		if parentPath(known) == path {
			keys = append(keys, lastSegment(known))
		}
	}
	return keys
}

// distance is the number of single-byte edits between a and b (Levenshtein). Keys
// are short ASCII words, and foreign ones need no better answer than "far".
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			substitute := diagonal
			if a[i] != b[j] {
				substitute++
			}
			diagonal = row[j+1]
			row[j+1] = min(substitute, row[j]+1, diagonal+1)
		}
	}
	return row[len(b)]
}

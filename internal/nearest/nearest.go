// Package nearest tells which of the words that a program knows somebody may have
// meant by one that it does not know. It must not know what the words stand for.
package nearest

import "strings"

// Edits counts the bytes to insert, remove or replace to make a known word of a
// misspelt one in any case (Levenshtein). near says that these are few enough, one
// and one more for every five bytes written, for the known word to be meant: in
// short words one slip, in long ones some. The words are ASCII, and foreign ones
// need no better answer than "far".
func Edits(known, misspelt string) (edits int, near bool) {
	edits = levenshtein(known, strings.ToLower(misspelt))
	return edits, edits <= 1+len(misspelt)/5
}

func levenshtein(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			replaced := diagonal
			if a[i] != b[j] {
				replaced++
			}
			diagonal = row[j+1]
			row[j+1] = min(replaced, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}

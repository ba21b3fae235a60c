package query

import "strings"

// telling is how long a part of a name has to be to stand for it.
const telling = 3

// nearest picks the names that somebody may have meant: those that hold the
// text, or else those that differ from it in a few letters.
func nearest(names []string, text string) []string {
	text = strings.ToLower(text)
	var holding, alike []string
	for _, name := range names {
		if len(text) >= telling && strings.Contains(name, text) {
			holding = append(holding, name)
		}
		if distance(name, text) <= 1+len(text)/5 {
			alike = append(alike, name)
		}
	}
	if len(holding) > 0 {
		return holding
	}
	return alike
}

// distance counts the bytes to insert, remove or replace to make b of a
// (Levenshtein).
func distance(a, b string) int {
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

package ledger

import "strings"

// Summarizer is an error with a shorter text, for the ledger, for alerts and for pages. The log
// contains the whole text.
type Summarizer interface {
	error
	Summary() string
}

// Summarize returns the text of err, in which the text of each wrapped [Summarizer] is replaced by its summary.
func Summarize(err error) string {
	text := err.Error()
	replaceTexts(&text, err)
	return text
}

func replaceTexts(text *string, err error) {
	switch e := err.(type) {
	case Summarizer:
		*text = strings.ReplaceAll(*text, e.Error(), e.Summary())
	case interface{ Unwrap() error }:
		replaceTexts(text, e.Unwrap())
	case interface{ Unwrap() []error }:
		for _, wrapped := range e.Unwrap() {
			replaceTexts(text, wrapped)
		}
	}
}

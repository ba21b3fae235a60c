package ledger

import (
	"encoding/json"
	"regexp"
	"strconv"
	"strings"
)

var (
	// namedRequest is how the text of an error names a request, quotedAnswer where it
	// quotes the beginning of an answer.
	namedRequest = regexp.MustCompile(`fetch stream "[^"]*": GET (?:https?://[^/\s]+)?(/[^\s?]*)(?:\?\S*)?`)
	quotedAnswer = regexp.MustCompile(`: body begins ("(?:[^"\\]|\\.)*")`)
	// statedMessage is what an answer in JSON says to people, under the names in use.
	statedMessage = regexp.MustCompile(`"(?:message|detail|error_description|error|title)"\s*:\s*("(?:[^"\\]|\\.)*)`)
)

// keptAnswers is what errors of a request say about all others.
const keptAnswers = "; what has landed is kept, the next run asks again"

// ShortenError makes the text of an error fit for an alert or a page: of a request its
// path, of an answer what that says to people. The log and the ledger have the whole text.
func ShortenError(text string) string {
	text = namedRequest.ReplaceAllString(strings.ReplaceAll(text, keptAnswers, ""), "GET $1")
	return quotedAnswer.ReplaceAllStringFunc(text, func(quoted string) string {
		body, err := strconv.Unquote(strings.TrimPrefix(quoted, ": body begins "))
		if err != nil {
			return ""
		}
		return shortenAnswer(strings.TrimSpace(body))
	})
}

// shortenAnswer finds the message of an answer, which may be cut off.
func shortenAnswer(body string) string {
	if found := statedMessage.FindStringSubmatch(body); found != nil {
		var said string
		if json.Unmarshal([]byte(found[1]+`"`), &said) == nil {
			return ": it says " + said
		}
	}
	switch {
	case strings.HasPrefix(body, "<"):
		return " with a page of HTML"
	case strings.HasPrefix(body, "{"), strings.HasPrefix(body, "["):
		return " with JSON that has no message"
	}
	return ": it says " + body
}

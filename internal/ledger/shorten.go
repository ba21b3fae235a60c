package ledger

import (
	"encoding/json"
	"regexp"
	"strconv"
	"strings"
)

var (
	// requestPattern matches the request in the text of an error. bodyPattern matches the quoted
	// beginning of the response body.
	requestPattern = regexp.MustCompile(`fetch stream "[^"]*": GET (?:https?://[^/\s]+)?(/[^\s?]*)(?:\?\S*)?`)
	bodyPattern    = regexp.MustCompile(`: body begins ("(?:[^"\\]|\\.)*")`)
	// messagePattern matches the message in a JSON error body, under the usual member names.
	messagePattern = regexp.MustCompile(`"(?:message|detail|error_description|error|title)"\s*:\s*("(?:[^"\\]|\\.)*)`)
	// advicePattern matches the advice that earlier releases wrote at the end of an error text.
	advicePattern = regexp.MustCompile(`; (?:responses|answers) stored before are kept; the next run repeats the request`)
)

// ShortenError shortens the text of an error for an alert or a page. It replaces a request by
// its path, and a response body by the message in the body. It removes the advice of earlier releases.
// The log and the ledger contain the whole text.
func ShortenError(text string) string {
	text = requestPattern.ReplaceAllString(advicePattern.ReplaceAllString(text, ""), "GET $1")
	return bodyPattern.ReplaceAllStringFunc(text, func(match string) string {
		body, err := strconv.Unquote(strings.TrimPrefix(match, ": body begins "))
		if err != nil {
			return ""
		}
		return summarizeBody(strings.TrimSpace(body))
	})
}

// summarizeBody returns the end of a sentence: the message in a response body, or a description of
// HTML or of JSON without a message, or else the body. The body can be truncated.
func summarizeBody(body string) string {
	if m := messagePattern.FindStringSubmatch(body); m != nil {
		var message string
		if json.Unmarshal([]byte(m[1]+`"`), &message) == nil {
			return ": " + message
		}
	}
	switch {
	case strings.HasPrefix(body, "<"):
		return " with a page of HTML"
	case strings.HasPrefix(body, "{"), strings.HasPrefix(body, "["):
		return " with JSON that has no message"
	}
	return ": " + body
}

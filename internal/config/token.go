package config

import (
	"errors"
	"fmt"
	"strings"
	"unicode"
)

// tokenPrefix begins every token of the service (spec section 5).
const tokenPrefix = "pc_"

// maxTokenSize is far above any token and far below a file given by mistake.
const maxTokenSize = 8 << 10

// ReadToken returns the token from where a says: the file, read with readFile, or
// the value itself. A caller that is answered 401 calls it once more, since a token
// is rotated by replacing the file's contents. White space around the file's text is
// cut off; the error never holds the text.
func (a API) ReadToken(readFile func(string) ([]byte, error)) (Secret, error) {
	if a.TokenFile == "" {
		return a.Token, tokenErr("api.token", tokenFault(a.Token))
	}
	data, err := readFile(a.TokenFile)
	if err != nil {
		return "", fmt.Errorf("read api.token_file: %w: give the path of a file this user can read", err)
	}
	token := Secret(strings.TrimSpace(string(data)))
	if fault := tokenFault(token); fault != "" {
		return "", tokenErr(fmt.Sprintf("api.token_file %q", a.TokenFile), fault)
	}
	return token, nil
}

func tokenErr(place, fault string) error {
	if fault == "" {
		return nil
	}
	return errors.New(place + " " + fault)
}

// tokenFault says why token cannot be sent in a header, or "".
func tokenFault(token Secret) string {
	text := token.Reveal()
	switch {
	case text == "":
		return "is empty: give the token that the service's operator issued"
	case len(text) > maxTokenSize:
		return "is too long for a token: give the token alone"
	case strings.ContainsFunc(text, unfitForHeader):
		return "holds white space or characters that no token has: give the token alone, without quotes or a name before it"
	}
	return ""
}

func unfitForHeader(r rune) bool { return r <= ' ' || r > unicode.MaxASCII || r == 0x7f }

// TokenDoubt returns a warning about a token that may be sent but does not look like
// one of this service, or "". It is no error: the prefix is the service's to change.
func TokenDoubt(token Secret) string {
	if strings.HasPrefix(token.Reveal(), tokenPrefix) {
		return ""
	}
	return "the token does not begin with " + tokenPrefix + ": it may be the secret of something else"
}

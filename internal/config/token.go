package config

import (
	"errors"
	"fmt"
	"strings"
	"unicode"
)

// tokenPrefix begins every token of the service (spec section 5).
const tokenPrefix = "pc_"

// maxTokenSize is in bytes: more than any token, less than most wrong files.
const maxTokenSize = 8 << 10

// ReadToken returns the token: the content of the file, read with readFile, or the
// value itself. After an answer 401 the caller calls it once more, since operators
// rotate a token by replacing the content of the file. White space around it is
// removed; the error never contains it.
func (a API) ReadToken(readFile func(string) ([]byte, error)) (Secret, error) {
	token, place := a.Token, "api.token"
	if a.TokenFile != "" {
		data, err := readFile(a.TokenFile)
		if err != nil {
			return "", fmt.Errorf("read api.token_file: %w: give the path of a file that this user can read", err)
		}
		token, place = Secret(strings.TrimSpace(string(data))), fmt.Sprintf("api.token_file %q", a.TokenFile)
	}
	if fault := tokenFault(token); fault != "" {
		return "", errors.New(place + " " + fault)
	}
	return token, nil
}

// ReadKeys returns the two keys of the files, read with readFile; both are empty
// without files. An error never contains a key.
func (s S3) ReadKeys(readFile func(string) ([]byte, error)) (access, secret Secret, err error) {
	for _, one := range []struct {
		path, file string
		into       *Secret
	}{{"s3.access_key_file", s.AccessKeyFile, &access}, {"s3.secret_key_file", s.SecretKeyFile, &secret}} {
		if one.file == "" {
			continue
		}
		data, err := readFile(one.file)
		if err != nil {
			return "", "", fmt.Errorf("read %s: %w: give the path of a file that this user can read", one.path, err)
		}
		*one.into = Secret(strings.TrimSpace(string(data)))
		if text := one.into.Reveal(); text == "" || len(text) > maxTokenSize || strings.ContainsFunc(text, unfitForHeader) {
			return "", "", fmt.Errorf("read %s %q: it does not contain one key alone: write the key, without quotes or a name", one.path, one.file)
		}
	}
	return access, secret, nil
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
		return "contains white space or characters that no token has: write the token alone, without quotes or a name"
	}
	return ""
}

func unfitForHeader(r rune) bool { return r <= ' ' || r > unicode.MaxASCII || r == 0x7f }

// TokenDoubt returns a warning if the token can be sent but does not look like one of
// this service, else "". It is no error: the service may change the prefix.
func TokenDoubt(token Secret) string {
	if strings.HasPrefix(token.Reveal(), tokenPrefix) {
		return ""
	}
	return "the token does not begin with " + tokenPrefix + ": it may be a secret of another service"
}

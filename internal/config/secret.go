package config

import (
	"encoding"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strconv"
	"strings"
	"unicode"
)

const redacted = "<secret>"

var (
	_ fmt.Formatter          = Secret("")
	_ slog.LogValuer         = Secret("")
	_ encoding.TextMarshaler = Secret("")
)

// Secret is a string that prints, logs and marshals as <secret>, or as "" when it is
// empty. Store it in exported fields only: package fmt does not call methods of
// unexported fields.
type Secret string

// Reveal returns the text. Every use of a secret calls Reveal, so that a search finds all uses.
func (s Secret) Reveal() string { return string(s) }

func (s Secret) String() string {
	if s == "" {
		return ""
	}
	return redacted
}

// Format covers every verb: with String alone, %d would print the text.
func (s Secret) Format(state fmt.State, verb rune) {
	text := s.String()
	if verb == 'q' || state.Flag('#') {
		text = strconv.Quote(text)
	}
	// Format cannot return an error.
	_, _ = io.WriteString(state, text)
}

// LogValue hides the text from slog.
func (s Secret) LogValue() slog.Value { return slog.StringValue(s.String()) }

// MarshalText hides the text from JSON, YAML and every other text encoding.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// tokenPrefix begins every token of the service (spec section 5).
const tokenPrefix = "pc_"

// maxTokenSize is in bytes. It is larger than any token and smaller than most files
// given by mistake.
const maxTokenSize = 8 << 10

// ReadToken returns the trimmed content of TokenFile, or Token. After a response 401 the
// caller calls ReadToken again, because operators rotate a token by replacing the content of the
// file. The error never contains the token.
func (a API) ReadToken() (Secret, error) {
	token, place := a.Token, "api.token"
	if a.TokenFile != "" {
		var err error
		if token, err = readTrimmed("api.token_file", a.TokenFile); err != nil {
			return "", err
		}
		place = fmt.Sprintf("api.token_file %q", a.TokenFile)
	}
	if fault := tokenFault(token); fault != "" {
		return "", errors.New(place + " " + fault)
	}
	return token, nil
}

// ReadKeys returns the contents of AccessKeyFile and SecretKeyFile. Both keys are empty if
// no files are set. The error never contains a key.
func (s S3) ReadKeys() (access, secret Secret, err error) {
	if access, err = readKey("s3.access_key_file", s.AccessKeyFile); err == nil {
		secret, err = readKey("s3.secret_key_file", s.SecretKeyFile)
	}
	return access, secret, err
}

func readKey(setting, file string) (Secret, error) {
	key, err := readSecret(setting, file)
	if err == nil && strings.ContainsFunc(key.Reveal(), isUnfitForHeader) {
		err = fmt.Errorf("read %s %q: the file does not contain exactly one key: write only the key, without quotes or a name", setting, file)
	}
	return key, err
}

// readSecret returns "" if no file is set. setting is the key with the path of the file.
func readSecret(setting, file string) (Secret, error) {
	if file == "" {
		return "", nil
	}
	secret, err := readTrimmed(setting, file)
	if err == nil && (secret == "" || len(secret) > maxTokenSize) {
		err = fmt.Errorf("read %s %q: the file is empty or too long: write only the secret into it", setting, file)
	}
	return secret, err
}

// trimText returns a text without a byte order mark and the white space around it.
func trimText(data []byte) string {
	return strings.TrimSpace(strings.TrimPrefix(string(data), byteOrderMark))
}

func readTrimmed(setting, file string) (Secret, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return "", fmt.Errorf("read %s: %w: give the path of a file that this user can read", setting, err)
	}
	return Secret(trimText(data)), nil
}

// tokenFault returns the reason why token cannot be sent in a header, or "".
func tokenFault(token Secret) string {
	text := token.Reveal()
	switch {
	case text == "":
		return "is empty: give the token that the service's operator issued"
	case len(text) > maxTokenSize:
		return "is too long for a token: give the token alone"
	case strings.ContainsFunc(text, isUnfitForHeader):
		return "contains white space or characters that no token has: write the token alone, without quotes or a name"
	}
	return ""
}

func isUnfitForHeader(r rune) bool { return r <= ' ' || r > unicode.MaxASCII || r == 0x7f }

// TokenWarning returns a warning if the token does not begin with the prefix of the service,
// else "". Another prefix is not an error, because the service may change the prefix.
func TokenWarning(token Secret) string {
	if strings.HasPrefix(token.Reveal(), tokenPrefix) {
		return ""
	}
	return "the token does not begin with " + tokenPrefix + ": it may be a secret of another service"
}

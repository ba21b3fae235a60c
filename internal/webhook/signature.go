package webhook

import (
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"strings"
)

// scheme stands before every signature (spec section 6.4).
const scheme = "v0="

// maxSignature bounds the header in bytes: some sixty entries, where a rotation
// needs two.
const maxSignature = 4096

// errEmptySecret refuses a secret with which anybody could sign.
var errEmptySecret = errors.New("use the webhook secrets: one of them is empty, and anyone could sign with it: " +
	"give the signing secret, or remove it")

// keysOf are the secrets as keys; during a rotation there are several.
func keysOf(secrets []string) ([][]byte, error) {
	keys := make([][]byte, 0, len(secrets))
	for _, s := range secrets {
		if s == "" {
			return nil, errEmptySecret
		}
		keys = append(keys, []byte(s))
	}
	return keys, nil
}

// signed reports whether any entry of the signature header is the HMAC-SHA256
// of the body under any of the keys. All entries are compared with all keys,
// each in constant time, so that the time tells nothing but their number.
func signed(keys [][]byte, header string, body []byte) bool {
	entries := signatures(header)
	if len(entries) == 0 {
		return false
	}
	match := 0
	for _, key := range keys {
		mac := hmac.New(sha256.New, key)
		mac.Write(body)
		want := mac.Sum(nil)
		for _, got := range entries {
			match |= subtle.ConstantTimeCompare(want, got)
		}
	}
	return match == 1
}

// signatures reads the entries "v0=<hex>" of a header. Others are passed over:
// a later scheme may stand beside this one.
func signatures(header string) [][]byte {
	if len(header) > maxSignature {
		return nil
	}
	var found [][]byte
	for entry := range strings.SplitSeq(header, ",") {
		digits, ok := strings.CutPrefix(strings.TrimSpace(entry), scheme)
		if !ok || len(digits) != hex.EncodedLen(sha256.Size) {
			continue
		}
		if sum, err := hex.DecodeString(digits); err == nil {
			found = append(found, sum)
		}
	}
	return found
}

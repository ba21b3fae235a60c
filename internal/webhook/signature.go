package webhook

import (
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"strings"
)

// scheme begins every signature (spec 6.4).
const scheme = "v0="

// maxSignatureHeader allows about sixty signatures, in bytes. A rotation of secrets needs two.
const maxSignatureHeader = 4096

func signingKeys(secrets []string) ([][]byte, error) {
	keys := make([][]byte, 0, len(secrets))
	for _, s := range secrets {
		if s == "" {
			return nil, errors.New("read the webhook secrets: one is empty, so anyone could sign an event: " +
				"fill it in, or remove it")
		}
		keys = append(keys, []byte(s))
	}
	return keys, nil
}

// isSigned reports whether any signature in the header is the HMAC-SHA256 of the body under any
// key. It compares every signature with every key in constant time, so that the duration reveals
// nothing about a valid signature.
func isSigned(keys [][]byte, header string, body []byte) bool {
	signatures := parseSignatures(header)
	if len(signatures) == 0 {
		return false
	}
	match := 0
	for _, key := range keys {
		mac := hmac.New(sha256.New, key)
		mac.Write(body)
		want := mac.Sum(nil)
		for _, got := range signatures {
			match |= subtle.ConstantTimeCompare(want, got)
		}
	}
	return match == 1
}

// parseSignatures skips signatures of other schemes, for example of a later version. Some senders write
// the scheme before each signature, others once before the first of several (spec 6.6).
func parseSignatures(header string) [][]byte {
	if len(header) > maxSignatureHeader {
		return nil
	}
	var signatures [][]byte
	inScheme := false
	for text := range strings.SplitSeq(header, ",") {
		text = strings.TrimSpace(text)
		digits, begins := strings.CutPrefix(text, scheme)
		if begins || strings.Contains(text, "=") {
			inScheme = begins
		}
		if !inScheme || len(digits) != hex.EncodedLen(sha256.Size) {
			continue
		}
		if sum, err := hex.DecodeString(digits); err == nil {
			signatures = append(signatures, sum)
		}
	}
	return signatures
}

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

// maxSignature limits the header in bytes. It allows about sixty entries. A rotation needs two.
const maxSignature = 4096

func signingKeys(secrets []string) ([][]byte, error) {
	keys := make([][]byte, 0, len(secrets))
	for _, s := range secrets {
		if s == "" {
			return nil, errors.New("use the webhook secrets: one of them is empty, so anyone could sign with it: " +
				"give the signing secret, or remove the empty one")
		}
		keys = append(keys, []byte(s))
	}
	return keys, nil
}

// isSigned reports whether any entry of the signature header is the HMAC-SHA256 of the body
// under any key. It compares all entries with all keys in constant time, so that the time depends
// only on the number of entries and keys.
func isSigned(keys [][]byte, header string, body []byte) bool {
	entries := parseSignatures(header)
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

// parseSignatures returns the bytes of the entries "v0=<hex>" of a header. It skips other entries,
// which may belong to a later scheme.
func parseSignatures(header string) [][]byte {
	if len(header) > maxSignature {
		return nil
	}
	var signatures [][]byte
	for entry := range strings.SplitSeq(header, ",") {
		digits, ok := strings.CutPrefix(strings.TrimSpace(entry), scheme)
		if !ok || len(digits) != hex.EncodedLen(sha256.Size) {
			continue
		}
		if sum, err := hex.DecodeString(digits); err == nil {
			signatures = append(signatures, sum)
		}
	}
	return signatures
}

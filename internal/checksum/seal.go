package checksum

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
)

// ErrSeal means that a sealed text was changed.
var ErrSeal = errors.New("its own checksum is wrong: the content was changed")

// A sealed object ends with the member "seal", the SHA-256 of the text before it.
const (
	sealPrefix = ",\n  \"seal\": \""
	sealSuffix = "\"\n}\n"
)

// Seal returns a struct or map as an indented JSON object that ends with its checksum.
func Seal(value any) ([]byte, error) {
	text, err := json.MarshalIndent(value, "", "  ")
	if err != nil {
		return nil, err
	}
	text = bytes.TrimSuffix(text, []byte("\n}"))
	return append(text, sealPrefix+Hex(text)+sealSuffix...), nil
}

// Unseal decodes a text that Seal returned. It returns ErrSeal if the checksum is wrong or missing.
func Unseal(text []byte, into any) error {
	at := len(text) - len(sealPrefix) - 2*sha256.Size - len(sealSuffix)
	if at < 0 || string(text[at:]) != sealPrefix+Hex(text[:at])+sealSuffix {
		return ErrSeal
	}
	return json.Unmarshal(text, into)
}

// Hex returns the SHA-256 of a text in hexadecimal digits.
func Hex(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// lineEnd is the format of the end of a sealed line, with the CRC-32C of the text before the end.
const lineEnd = `,"sum":"%08x"}`

// SealLine returns a struct or map as one line of JSON that ends with its checksum, without the
// line break.
func SealLine(value any) ([]byte, error) {
	text, err := json.Marshal(value)
	if err != nil {
		return nil, err
	}
	text = text[:len(text)-1]
	return fmt.Appendf(text, lineEnd, crc32c(text)), nil
}

// UnsealLine decodes a line that SealLine returned. It returns ErrSeal if the checksum is wrong or
// missing.
func UnsealLine(line []byte, into any) error {
	at := len(line) - len(fmt.Sprintf(lineEnd, 0))
	if at < 0 || string(line[at:]) != fmt.Sprintf(lineEnd, crc32c(line[:at])) {
		return ErrSeal
	}
	return json.Unmarshal(line, into)
}

func crc32c(text []byte) uint32 { return crc32.Checksum(text, crc32.MakeTable(crc32.Castagnoli)) }

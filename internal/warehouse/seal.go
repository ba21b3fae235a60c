package warehouse

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
)

// What the program writes about itself is sealed: its last member is a checksum of
// the text before it, so that a bit that rots in a name, a time or a checksum is not
// taken for what was written.

// errSeal says that a text is not the one that was sealed.
var errSeal = errors.New("its own checksum does not fit: it is not what was written")

const (
	sealBegins = ",\n  \"seal\": \""
	sealEnds   = "\"\n}\n"
)

// sealObject writes a value as an indented JSON object with its seal.
func sealObject(value any) ([]byte, error) {
	text, err := json.MarshalIndent(value, "", "  ")
	if err != nil {
		return nil, err
	}
	text = bytes.TrimSuffix(text, []byte("\n}"))
	return append(text, sealBegins+sha256Hex(text)+sealEnds...), nil
}

// unsealObject reads what seal wrote. A text from before there were seals is read as it is.
func unsealObject(text []byte, into any) error {
	if at := len(text) - len(sealBegins) - 2*sha256.Size - len(sealEnds); at >= 0 && bytes.HasPrefix(text[at:], []byte(sealBegins)) {
		if string(text[at:]) != sealBegins+sha256Hex(text[:at])+sealEnds {
			return errSeal
		}
	} else if bytes.Contains(text, []byte(`"seal"`)) {
		return errSeal
	}
	return json.Unmarshal(text, into)
}

func sha256Hex(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// lineSum is the last member of a line of the ledger; it covers the text before it.
const lineSum = `,"sum":"%08x"}`

// sealLine writes a value as one line of JSON with its checksum.
func sealLine(value any) ([]byte, error) {
	text, err := json.Marshal(value)
	if err != nil {
		return nil, err
	}
	text = text[:len(text)-1]
	return fmt.Appendf(text, lineSum, lineDigest(text)), nil
}

// unsealLine reads a line of sealLine, or one from before lines had checksums.
func unsealLine(line []byte, into any) error {
	at := len(line) - len(fmt.Sprintf(lineSum, 0))
	begins := []byte(lineSum[:len(`,"sum":"`)])
	if at >= 0 && bytes.HasPrefix(line[at:], begins) {
		if string(line[at:]) != fmt.Sprintf(lineSum, lineDigest(line[:at])) {
			return errSeal
		}
	} else if bytes.Contains(line, begins) {
		return errSeal
	}
	return json.Unmarshal(line, into)
}

func lineDigest(text []byte) uint32 { return crc32.Checksum(text, crc32.MakeTable(crc32.Castagnoli)) }

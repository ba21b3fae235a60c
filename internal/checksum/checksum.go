// Package checksum detects changed bytes: it compares files with recorded checksums, and seals
// JSON texts by adding their checksum.
// The package must not know the meaning of the files and texts, or how damage is repaired.
package checksum

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// FileSum is the size and the checksum of a file, as in manifests.
type FileSum struct {
	File   string `json:"file"`
	Bytes  int64  `json:"bytes"`
	SHA256 string `json:"sha256"`
}

// SumFile returns the FileSum of the file dir/name. Its field File is name.
func SumFile(ctx context.Context, dir, name string) (sum FileSum, err error) {
	f, err := os.Open(filepath.Join(dir, name))
	if err != nil {
		return sum, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	return Sum(ctx, name, f)
}

// Sum returns the FileSum of a file with the content of r.
func Sum(ctx context.Context, name string, r io.Reader) (FileSum, error) {
	h := sha256.New()
	n, err := io.Copy(h, cancelableReader{r, ctx})
	return FileSum{name, n, hex.EncodeToString(h.Sum(nil))}, err
}

// SumText returns the FileSum of a file with this content.
func SumText(name string, text []byte) FileSum {
	return FileSum{name, int64(len(text)), Hex(text)}
}

// cancelableReader fails when its context ends.
type cancelableReader struct {
	io.Reader
	ctx context.Context
}

func (r cancelableReader) Read(p []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	return r.Reader.Read(p)
}

// Copy copies src to dst and returns the SHA-256 of the copied bytes in hexadecimal digits.
func Copy(dst io.Writer, src io.Reader) (string, error) {
	h := sha256.New()
	_, err := io.Copy(io.MultiWriter(dst, h), src)
	return hex.EncodeToString(h.Sum(nil)), err
}

// Cache compares files with recorded checksums, and remembers the checksums of these files. It reads a
// file with several hard links only once, if the file does not change.
type Cache struct {
	ctx context.Context
	// Bytes is the number of bytes that Cache has read.
	Bytes  int64
	bySize map[int64][]summedFile
}

type summedFile struct {
	info   fs.FileInfo
	sha256 string
}

// NewCache returns an empty cache. ctx cancels the reading of files.
func NewCache(ctx context.Context) *Cache {
	return &Cache{ctx: ctx, bySize: map[int64][]summedFile{}}
}

// WrongSum is the problem that Compare returns for a wrong checksum.
const WrongSum = "its checksum differs from its manifest"

// Compare returns the problem of a file, or "" if it is intact. If readData is true, Compare
// compares the size and the checksum. Otherwise it compares only the size.
func (c *Cache) Compare(path string, want FileSum, readData bool) (problem string) {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "it is missing"
	case err != nil:
		return err.Error()
	case !info.Mode().IsRegular():
		return "it is not a regular file"
	case info.Size() != want.Bytes:
		return fmt.Sprintf("it has %d bytes, but %d in its manifest", info.Size(), want.Bytes)
	case !readData:
		return ""
	}
	got, err := c.sum(path, info)
	if err != nil {
		return err.Error()
	}
	if got != want.SHA256 {
		return WrongSum
	}
	return ""
}

// IsIntact reports whether a file has the recorded size and checksum.
func (c *Cache) IsIntact(path string, want FileSum) bool { return c.Compare(path, want, true) == "" }

func (c *Cache) sum(path string, info fs.FileInfo) (string, error) {
	for _, known := range c.bySize[info.Size()] {
		if os.SameFile(known.info, info) && known.info.ModTime().Equal(info.ModTime()) {
			return known.sha256, nil
		}
	}
	sum, err := SumFile(c.ctx, filepath.Dir(path), filepath.Base(path))
	if err != nil {
		return "", err
	}
	c.Bytes += sum.Bytes
	c.bySize[info.Size()] = append(c.bySize[info.Size()], summedFile{info, sum.SHA256})
	return sum.SHA256, nil
}

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

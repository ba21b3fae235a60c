package main

import (
	"crypto/rand"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"strings"

	"github.com/zeebo/xxh3"
)

// nameBuild identifies this binary by its revision and modules. If the source had local
// changes, it uses a checksum of the binary, or a random name if the binary cannot be read.
func nameBuild() string {
	info, _ := debug.ReadBuildInfo()
	if text := fmt.Sprint(info); strings.Contains(text, "vcs.modified=false") {
		return text
	}
	// On Linux this opens the running binary even after its file was replaced.
	f, err := os.Open("/proc/self/exe")
	if path, otherErr := os.Executable(); err != nil && otherErr == nil {
		f, err = os.Open(path)
	}
	if err != nil {
		return rand.Text()
	}
	defer f.Close()
	hash := xxh3.New()
	if _, err := io.Copy(hash, f); err != nil {
		return rand.Text()
	}
	return fmt.Sprintf("%x", hash.Sum128().Bytes())
}

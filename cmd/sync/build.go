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

// nameBuild names this binary: by the revision and the modules that it was built of or,
// where they are not all that it was built of, by its bytes. Where these cannot be read
// either, it has a name that no other process has.
func nameBuild() string {
	info, _ := debug.ReadBuildInfo()
	if text := fmt.Sprint(info); strings.Contains(text, "vcs.modified=false") {
		return text
	}
	// By this name Linux opens what runs, though its file has been replaced.
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

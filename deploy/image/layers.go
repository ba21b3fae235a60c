package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"debug/elf"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"golang.org/x/crypto/x509roots/fallback/bundle"
)

// userID is the id of the user and group of the program. Few machines use this id for another user. It
// is below 65536, so user namespaces contain it.
const userID = 65532

// The names of users and groups. The configuration of the image contains the numeric id of the user,
// because otherwise Kubernetes cannot check that the user is not root.
const (
	passwd = "root:x:0:0:root:/:/sbin/nologin\nplacementsync:x:65532:65532:placementsync:/warehouse:/sbin/nologin\n"
	group  = "root:x:0:\nplacementsync:x:65532:\n"
)

// tarFile is a file in a tar archive, or a folder if its name ends with a slash.
type tarFile struct {
	name    string
	mode    int64
	owner   int
	content []byte
}

// systemFiles returns the files that programs expect on any machine, and the configuration, the
// licenses and the folder of the warehouse. Time zones are embedded in the program.
func systemFiles(o options) ([]tarFile, error) {
	config, configErr := os.ReadFile(filepath.Join(o.root, "deploy", "image", "config.yaml"))
	license, licenseErr := os.ReadFile(filepath.Join(o.root, "LICENSE"))
	thirdParty, thirdPartyErr := os.ReadFile(filepath.Join(o.root, "docs", "licenses.md"))
	roots, rootsErr := rootCertificates()
	if err := errors.Join(configErr, licenseErr, thirdPartyErr, rootsErr); err != nil {
		return nil, err
	}
	return []tarFile{
		{"etc/", 0o755, 0, nil},
		{"etc/group", 0o644, 0, []byte(group)},
		{"etc/passwd", 0o644, 0, []byte(passwd)},
		{"etc/placementsync/", 0o755, 0, nil},
		{"etc/placementsync/config.yaml", 0o644, 0, config},
		{"etc/ssl/", 0o755, 0, nil},
		{"etc/ssl/certs/", 0o755, 0, nil},
		{"etc/ssl/certs/ca-certificates.crt", 0o644, 0, roots},
		{"tmp/", 0o1777, 0, nil},
		{"usr/", 0o755, 0, nil},
		{"usr/share/", 0o755, 0, nil},
		{"usr/share/doc/", 0o755, 0, nil},
		{"usr/share/doc/placementsync/", 0o755, 0, nil},
		{"usr/share/doc/placementsync/LICENSE", 0o644, 0, license},
		{"usr/share/doc/placementsync/licenses.md", 0o644, 0, thirdParty},
		{"warehouse/", 0o750, userID, nil},
	}, nil
}

// rootCertificates returns the root certificates of Mozilla as published by the Go project and
// pinned by go.sum. It omits roots that Mozilla trusts only for certificates issued before a
// date, because a file of roots cannot express this condition.
func rootCertificates() ([]byte, error) {
	var b bytes.Buffer
	for root := range bundle.Roots() {
		if root.Constraint != nil {
			continue
		}
		if err := pem.Encode(&b, &pem.Block{Type: "CERTIFICATE", Bytes: root.Certificate}); err != nil {
			return nil, err
		}
	}
	return b.Bytes(), nil
}

// writeTar writes a tar archive. created is the time of all files.
func writeTar(out io.Writer, files []tarFile, created time.Time) error {
	w := tar.NewWriter(out)
	for _, file := range files {
		h := tar.Header{Typeflag: tar.TypeReg, Name: file.name, Mode: file.mode, Uid: file.owner, Gid: file.owner,
			Size: int64(len(file.content)), ModTime: created, Format: tar.FormatUSTAR}
		if strings.HasSuffix(file.name, "/") {
			h.Typeflag = tar.TypeDir
		}
		if err := w.WriteHeader(&h); err != nil {
			return err
		}
		if _, err := w.Write(file.content); err != nil {
			return err
		}
	}
	return w.Close()
}

func newLayer(files []tarFile, created time.Time) (v1.Layer, error) {
	var b bytes.Buffer
	if err := writeTar(&b, files, created); err != nil {
		return nil, err
	}
	data := b.Bytes()
	return tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(data)), nil },
		tarball.WithCompressionLevel(gzip.BestCompression), tarball.WithCompressedCaching, tarball.WithMediaType(types.OCILayer))
}

// readProgram reads a static program and returns its architecture.
func readProgram(path string) (content []byte, arch string, err error) {
	if content, err = os.ReadFile(path); err != nil {
		return nil, "", err
	}
	f, err := elf.NewFile(bytes.NewReader(content))
	if err != nil {
		return nil, "", fmt.Errorf("read %s: %w", path, err)
	}
	for _, p := range f.Progs {
		if p.Type == elf.PT_INTERP {
			return nil, "", fmt.Errorf("%s needs a dynamic linker, but the image has none: link the program statically", path)
		}
	}
	switch f.Machine {
	case elf.EM_X86_64:
		return content, "amd64", nil
	case elf.EM_AARCH64:
		return content, "arm64", nil
	}
	return nil, "", fmt.Errorf("%s is for the architecture %s: build it for amd64 or arm64", path, f.Machine)
}

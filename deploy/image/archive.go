package main

import (
	"archive/tar"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"regexp"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/partial"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// notAllowedInTag matches a character that a tag must not contain.
var notAllowedInTag = regexp.MustCompile(`[^A-Za-z0-9_.-]`)

// archiveFile is a file in the tar archive of the image.
type archiveFile struct {
	name string
	size int64
	open func() (io.ReadCloser, error)
}

func newFile(name string, data []byte) archiveFile {
	return archiveFile{name, int64(len(data)), func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(data)), nil }}
}

func blobPath(h v1.Hash) string { return "blobs/" + h.Algorithm + "/" + h.Hex }

// writeArchive atomically writes the image as a tar file of an OCI layout. For older versions of
// Docker, the archive also contains manifest.json, which lists the blobs.
func writeArchive(o options, img v1.Image) (digest v1.Hash, err error) {
	files, digest, err := archiveFiles(o, img)
	if err != nil {
		return digest, err
	}
	temp := o.out + ".part"
	f, err := os.Create(temp)
	if err != nil {
		return digest, err
	}
	defer func() {
		if err != nil {
			_ = os.Remove(temp)
		}
	}()
	w := tar.NewWriter(f)
	for _, file := range files {
		if err = writeFile(w, file, o.created); err != nil {
			return digest, errors.Join(err, f.Close())
		}
	}
	if err = errors.Join(w.Close(), f.Sync(), f.Close()); err != nil {
		return digest, err
	}
	return digest, os.Rename(temp, o.out)
}

func writeFile(w *tar.Writer, file archiveFile, modTime time.Time) error {
	if err := w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: file.name, Mode: 0o644, Size: file.size, ModTime: modTime, Format: tar.FormatUSTAR}); err != nil {
		return err
	}
	r, err := file.open()
	if err != nil {
		return err
	}
	_, err = io.Copy(w, r)
	return errors.Join(err, r.Close())
}

// archiveFiles returns the files of the archive and the digest of the image.
func archiveFiles(o options, img v1.Image) ([]archiveFile, v1.Hash, error) {
	layers, layersErr := img.Layers()
	rawConfig, rawErr := img.RawConfigFile()
	config, configErr := img.ConfigFile()
	configName, nameErr := img.ConfigName()
	manifest, manifestErr := img.RawManifest()
	descriptor, describeErr := partial.Descriptor(img)
	if err := errors.Join(layersErr, rawErr, configErr, nameErr, manifestErr, describeErr); err != nil {
		return nil, v1.Hash{}, err
	}
	tag := notAllowedInTag.ReplaceAllString(o.version, "-")
	dockerManifest := tarball.Descriptor{Config: blobPath(configName), RepoTags: []string{"placementsync:" + tag}}
	blobs := []archiveFile{newFile(blobPath(descriptor.Digest), manifest), newFile(blobPath(configName), rawConfig)}
	for _, layer := range layers {
		digest, digestErr := layer.Digest()
		size, sizeErr := layer.Size()
		if err := errors.Join(digestErr, sizeErr); err != nil {
			return nil, v1.Hash{}, err
		}
		dockerManifest.Layers = append(dockerManifest.Layers, blobPath(digest))
		blobs = append(blobs, archiveFile{blobPath(digest), size, layer.Compressed})
	}
	descriptor.ArtifactType, descriptor.Platform = "", config.Platform()
	descriptor.Annotations = map[string]string{
		"org.opencontainers.image.ref.name": tag,
		"io.containerd.image.name":          "docker.io/library/placementsync:" + tag,
	}
	index, indexErr := json.Marshal(v1.IndexManifest{SchemaVersion: 2, MediaType: types.OCIImageIndex, Manifests: []v1.Descriptor{*descriptor}})
	dockerJSON, dockerErr := json.Marshal(tarball.Manifest{dockerManifest})
	head := []archiveFile{newFile("oci-layout", []byte(`{"imageLayoutVersion":"1.0.0"}`)), newFile("index.json", index), newFile("manifest.json", dockerJSON)}
	return append(head, blobs...), descriptor.Digest, errors.Join(indexErr, dockerErr)
}

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

// blob is a file of the archive.
type blob struct {
	name string
	size int64
	open func() (io.ReadCloser, error)
}

func newBlob(name string, data []byte) blob {
	return blob{name, int64(len(data)), func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(data)), nil }}
}

func blobPath(h v1.Hash) string { return "blobs/" + h.Algorithm + "/" + h.Hex }

// writeArchive atomically writes the image as a tar file of an OCI layout. A manifest.json
// beside the layout lists the same blobs for older versions of Docker.
func writeArchive(o options, img v1.Image) (digest v1.Hash, err error) {
	blobs, digest, err := archiveBlobs(o, img)
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
	for _, b := range blobs {
		if err = writeBlob(w, b, o.created); err != nil {
			return digest, errors.Join(err, f.Close())
		}
	}
	if err = errors.Join(w.Close(), f.Sync(), f.Close()); err != nil {
		return digest, err
	}
	return digest, os.Rename(temp, o.out)
}

func writeBlob(w *tar.Writer, b blob, modTime time.Time) error {
	if err := w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: b.name, Mode: 0o644, Size: b.size, ModTime: modTime, Format: tar.FormatUSTAR}); err != nil {
		return err
	}
	r, err := b.open()
	if err != nil {
		return err
	}
	_, err = io.Copy(w, r)
	return errors.Join(err, r.Close())
}

func archiveBlobs(o options, img v1.Image) ([]blob, v1.Hash, error) {
	layers, layersErr := img.Layers()
	config, configErr := img.RawConfigFile()
	file, fileErr := img.ConfigFile()
	configName, nameErr := img.ConfigName()
	manifest, manifestErr := img.RawManifest()
	descriptor, describeErr := partial.Descriptor(img)
	if err := errors.Join(layersErr, configErr, fileErr, nameErr, manifestErr, describeErr); err != nil {
		return nil, v1.Hash{}, err
	}
	tag := notAllowedInTag.ReplaceAllString(o.version, "-")
	dockerManifest := tarball.Descriptor{Config: blobPath(configName), RepoTags: []string{"placementsync:" + tag}}
	blobs := []blob{newBlob(blobPath(descriptor.Digest), manifest), newBlob(blobPath(configName), config)}
	for _, layer := range layers {
		digest, digestErr := layer.Digest()
		size, sizeErr := layer.Size()
		if err := errors.Join(digestErr, sizeErr); err != nil {
			return nil, v1.Hash{}, err
		}
		dockerManifest.Layers = append(dockerManifest.Layers, blobPath(digest))
		blobs = append(blobs, blob{blobPath(digest), size, layer.Compressed})
	}
	descriptor.ArtifactType, descriptor.Platform = "", file.Platform()
	descriptor.Annotations = map[string]string{
		"org.opencontainers.image.ref.name": tag,
		"io.containerd.image.name":          "docker.io/library/placementsync:" + tag,
	}
	index, indexErr := json.Marshal(v1.IndexManifest{SchemaVersion: 2, MediaType: types.OCIImageIndex, Manifests: []v1.Descriptor{*descriptor}})
	dockerJSON, dockerErr := json.Marshal(tarball.Manifest{dockerManifest})
	head := []blob{newBlob("oci-layout", []byte(`{"imageLayoutVersion":"1.0.0"}`)), newBlob("index.json", index), newBlob("manifest.json", dockerJSON)}
	return append(head, blobs...), descriptor.Digest, errors.Join(indexErr, dockerErr)
}

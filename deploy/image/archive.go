package main

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/partial"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

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
	err = errors.Join(writeTar(f, files, o.created), f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(temp, o.out)
	}
	if err != nil {
		_ = os.Remove(temp)
	}
	return digest, err
}

// archiveFiles returns the files of the archive and the digest of the image.
func archiveFiles(o options, img v1.Image) ([]tarFile, v1.Hash, error) {
	layers, layersErr := img.Layers()
	rawConfig, rawErr := img.RawConfigFile()
	config, configErr := img.ConfigFile()
	configName, nameErr := img.ConfigName()
	manifest, manifestErr := img.RawManifest()
	descriptor, describeErr := partial.Descriptor(img)
	if err := errors.Join(layersErr, rawErr, configErr, nameErr, manifestErr, describeErr); err != nil {
		return nil, v1.Hash{}, err
	}
	tag := strings.ReplaceAll(o.version, "+", "-") // a tag must not contain a plus sign
	dockerManifest := tarball.Descriptor{Config: blobPath(configName), RepoTags: []string{"placementsync:" + tag}}
	blobs := []tarFile{{blobPath(descriptor.Digest), 0o644, 0, manifest}, {blobPath(configName), 0o644, 0, rawConfig}}
	for _, layer := range layers {
		digest, digestErr := layer.Digest()
		r, readErr := layer.Compressed()
		if err := errors.Join(digestErr, readErr); err != nil {
			return nil, v1.Hash{}, err
		}
		data, readErr := io.ReadAll(r)
		if err := errors.Join(readErr, r.Close()); err != nil {
			return nil, v1.Hash{}, err
		}
		dockerManifest.Layers = append(dockerManifest.Layers, blobPath(digest))
		blobs = append(blobs, tarFile{blobPath(digest), 0o644, 0, data})
	}
	descriptor.ArtifactType, descriptor.Platform = "", config.Platform()
	descriptor.Annotations = map[string]string{
		"org.opencontainers.image.ref.name": tag,
		"io.containerd.image.name":          "docker.io/library/placementsync:" + tag,
	}
	index, indexErr := json.Marshal(v1.IndexManifest{SchemaVersion: 2, MediaType: types.OCIImageIndex, Manifests: []v1.Descriptor{*descriptor}})
	dockerJSON, dockerErr := json.Marshal(tarball.Manifest{dockerManifest})
	head := []tarFile{{"oci-layout", 0o644, 0, []byte(`{"imageLayoutVersion":"1.0.0"}`)}, {"index.json", 0o644, 0, index}, {"manifest.json", 0o644, 0, dockerJSON}}
	return append(head, blobs...), descriptor.Digest, errors.Join(indexErr, dockerErr)
}

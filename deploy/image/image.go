package main

import (
	"fmt"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

const (
	programPath = "/placementsync"
	configPath  = "/etc/placementsync/config.yaml"
)

// buildImage packs two layers: files that seldom change, and the program.
func buildImage(o options) (v1.Image, error) {
	content, arch, err := readProgram(o.binary)
	if err != nil {
		return nil, err
	}
	system, err := systemFiles(o)
	if err != nil {
		return nil, err
	}
	img := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	for _, part := range []struct {
		comment string
		files   []tarFile
	}{
		{"users, root certificates, the configuration of containers, licenses", system},
		{"placementsync " + o.version, []tarFile{{programPath[1:], 0o755, 0, content}}},
	} {
		layer, err := newLayer(part.files, o.created)
		if err != nil {
			return nil, fmt.Errorf("pack %s: %w", part.comment, err)
		}
		history := v1.History{Created: v1.Time{Time: o.created}, CreatedBy: "make image", Comment: part.comment}
		if img, err = mutate.Append(img, mutate.Addendum{Layer: layer, History: history}); err != nil {
			return nil, err
		}
	}
	return configure(img, o, arch)
}

// configure sets the command, user, environment and labels of the image.
func configure(img v1.Image, o options, arch string) (v1.Image, error) {
	current, err := img.ConfigFile()
	if err != nil {
		return nil, err
	}
	file := current.DeepCopy()
	file.OS, file.Architecture, file.Created = "linux", arch, v1.Time{Time: o.created}
	labels := map[string]string{
		"org.opencontainers.image.title":       "placementsync",
		"org.opencontainers.image.description": "Nightly sync of a media placement marketplace into DuckDB and Parquet",
		"org.opencontainers.image.version":     o.version,
		"org.opencontainers.image.created":     o.created.Format(time.RFC3339),
		"org.opencontainers.image.licenses":    "Apache-2.0",
	}
	if o.revision != "" {
		labels["org.opencontainers.image.revision"] = o.revision
	}
	file.Config = v1.Config{
		User:       fmt.Sprintf("%d:%[1]d", userID),
		WorkingDir: "/warehouse",
		Volumes:    map[string]struct{}{"/warehouse": {}},
		Entrypoint: []string{programPath},
		Cmd:        []string{"serve", "--config", configPath},
		// The tokens are read from files, because users who can inspect a container see its
		// environment.
		Env: []string{
			"PLACEMENTSYNC_TOKEN_FILE=/run/secrets/placementsync_token",
			"PLACEMENTSYNC_AUTH_TOKEN_FILE=/run/secrets/placementsync_auth_token",
		},
		ExposedPorts: map[string]struct{}{"8080/tcp": {}},
		StopSignal:   "SIGTERM",
		Labels:       labels,
		// Docker reads the health check from here, although the OCI format has no such field.
		Healthcheck: &v1.HealthConfig{
			Test:     []string{"CMD", programPath, "serve", "--probe", "health", "--config", configPath},
			Interval: 30 * time.Second, Timeout: 5 * time.Second, StartPeriod: 30 * time.Second, Retries: 3,
		},
	}
	img, err = mutate.ConfigFile(img, file)
	if err != nil {
		return nil, err
	}
	return mutate.Annotations(img, labels).(v1.Image), nil
}

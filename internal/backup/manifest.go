package backup

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"placementsync/internal/bucket"
	"placementsync/internal/checksum"
)

// Parts of the object names of a backup.
const (
	dataDir        = "data/"
	manifestsDir   = "manifests/"
	manifestSuffix = ".json"
)

const (
	manifestKind = "placementsync backup"
	// manifestFormat is the version of the format. Raise it if older programs would
	// restore wrong files.
	manifestFormat = 1
	// maxManifest is the largest size of a manifest in bytes. Each file takes about 200 bytes.
	maxManifest = 256 << 20
)

// Manifest lists the files of a backup. The name of its object contains At and the SHA-256 of
// the object.
type Manifest struct {
	Kind    string             `json:"kind"`
	Format  int                `json:"format"`
	Run     string             `json:"run_id"`
	At      time.Time          `json:"at"`
	Program string             `json:"program_version"`
	Files   []checksum.FileSum `json:"files"`
	// LeftOut is Result.LeftOut.
	LeftOut []DamagedFile `json:"left_out,omitempty"`
}

func dataName(f checksum.FileSum) string { return dataDir + f.SHA256 }

const nameTimeFormat = "20060102T150405.000Z"

type storedManifest struct {
	name string
	// storedAt is the time at which the server stored the object. It may be zero.
	storedAt time.Time
	Manifest
}

type manifests struct {
	readable   []storedManifest // oldest first
	unreadable []*manifestError
	// newestAt is the time in the name of the newest manifest, readable or not.
	newestAt time.Time
}

func writeManifest(ctx context.Context, b *bucket.Bucket, m Manifest) (name string, err error) {
	text, err := json.Marshal(m)
	if err != nil {
		return "", err
	}
	name = manifestsDir + m.At.Format(nameTimeFormat) + "-" + checksum.Hex(text) + manifestSuffix
	return name, b.PutBytes(ctx, name, text)
}

// listManifests reads the manifests in a bucket, oldest first. It ignores objects that are not named like a
// manifest. It returns an error if there are manifests and all of them are unreadable.
func listManifests(ctx context.Context, b *bucket.Bucket) (all manifests, err error) {
	objects, err := b.List(ctx, manifestsDir)
	if err != nil {
		return all, err
	}
	for _, o := range objects {
		name := strings.TrimSuffix(strings.TrimPrefix(o.Name, manifestsDir), manifestSuffix)
		stamp, wantSHA256, ok := strings.Cut(name, "-")
		at, timeErr := time.Parse(nameTimeFormat, stamp)
		if !ok || timeErr != nil {
			continue
		}
		m, err := readManifest(ctx, b, o.Name, wantSHA256)
		unreadable, isUnreadable := errors.AsType[*manifestError](err)
		switch {
		case errors.Is(err, bucket.ErrMissing): // another backup has removed the manifest meanwhile
			continue
		case isUnreadable:
			all.unreadable = append(all.unreadable, unreadable)
		case err != nil:
			return all, err
		default:
			all.readable = append(all.readable, storedManifest{o.Name, o.StoredAt, m})
		}
		all.newestAt = at
	}
	if n := len(all.unreadable); n > 0 && len(all.readable) == 0 {
		return all, fmt.Errorf("%w; no other backup in %s can be read", all.unreadable[n-1], b.Address(""))
	}
	return all, nil
}

// manifestError means that a manifest is damaged or was written by a newer program.
type manifestError struct{ name, address, problem string }

func (e *manifestError) Error() string {
	return fmt.Sprintf("read the backup %s: %s", e.address, e.problem)
}

func readManifest(ctx context.Context, b *bucket.Bucket, name, wantSHA256 string) (m Manifest, err error) {
	text, err := b.Read(ctx, name, maxManifest)
	if err != nil {
		return m, err
	}
	if checksum.Hex(text) != wantSHA256 {
		return m, &manifestError{name, b.Address(name), "its bytes do not match its checksum"}
	}
	if err := json.Unmarshal(text, &m); err != nil || m.Kind != manifestKind {
		return m, &manifestError{name, b.Address(name), "it is not a backup manifest"}
	}
	if m.Format > manifestFormat {
		return m, &manifestError{name, b.Address(name), fmt.Sprintf("placementsync %s wrote it in format %d, but this program supports format %d: use that version or a later one",
			m.Program, m.Format, manifestFormat)}
	}
	seen := make(map[string]bool, len(m.Files))
	for _, f := range m.Files {
		if seen[f.File] {
			return m, &manifestError{name, b.Address(name), fmt.Sprintf("it lists %q twice", f.File)}
		}
		seen[f.File] = true
	}
	return m, nil
}

// readNewest returns the newest manifest. If it is unreadable, readNewest returns an error or, with
// c.UseOlder, the newest readable manifest.
func (c Config) readNewest(ctx context.Context) (Manifest, error) {
	all, err := listManifests(ctx, c.Bucket)
	if err != nil {
		return Manifest{}, err
	}
	if len(all.readable) == 0 {
		return Manifest{}, fmt.Errorf("find a backup in %s: there is none: check bucket and prefix, or run \"placementsync backup\"", c.Bucket.Address(""))
	}
	newest := all.readable[len(all.readable)-1]
	for _, err := range all.unreadable {
		if err.name < newest.name {
			continue // a later manifest is readable
		}
		if !c.UseOlder {
			return Manifest{}, fmt.Errorf("%w; nothing was changed: --older uses the newest readable backup, of run %s at %s",
				err, newest.Run, newest.At.Format(time.DateTime))
		}
		c.Log.Warn("the newest backup cannot be read; an earlier backup is used", "error", err, "run", newest.Run, "at", newest.At)
	}
	return newest.Manifest, nil
}

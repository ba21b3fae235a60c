package backup

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"placementsync/internal/object"
)

// Names below the prefix of a backup.
const (
	dataDir      = "data/"
	manifestsDir = "manifests/"
	suffix       = ".json"
)

const (
	manifestKind = "placementsync backup"
	// manifestFormat numbers the meaning of a manifest. Raise it when an older program
	// would restore the wrong thing.
	manifestFormat = 1
	// mostManifest bounds a manifest in bytes: some 200 for each file.
	mostManifest = 256 << 20
)

// Manifest names the files of a backup. Its object is named by its time and the checksum
// of its text, so it needs no seal.
type Manifest struct {
	Kind    string    `json:"kind"`
	Format  int       `json:"format"`
	Run     string    `json:"run_id"`
	At      time.Time `json:"at"`
	Program string    `json:"program_version"`
	Files   []File    `json:"files"`
	// LeftOut was damaged in the warehouse, and is not in the backup.
	LeftOut []Problem `json:"left_out,omitempty"`
}

// File is a file of the warehouse, and by its checksum an object.
type File struct {
	File   string `json:"file"`
	Bytes  int64  `json:"bytes"`
	SHA256 string `json:"sha256"`
}

func (f File) sum() object.Sum { return object.Sum{Bytes: f.Bytes, SHA256: f.SHA256} }

func dataName(sum object.Sum) string { return dataDir + sum.SHA256 }

func compareText(x, y string) int { return strings.Compare(x, y) }

// nameTime is the time in the name of a manifest.
const nameTime = "20060102T150405.000Z"

// named is a manifest with the name of its object.
type named struct {
	name string
	// storedAt is by the clock of the server; zero: it does not say.
	storedAt time.Time
	Manifest
}

// unread is a manifest that cannot be read.
type unread struct {
	name string
	err  error
}

// manifests are those in a bucket.
type manifests struct {
	// whole are those that can be read, oldest first.
	whole  []named
	unread []unread
	// last is the time in the name of the newest, also when that cannot be read.
	last time.Time
}

func writeManifest(ctx context.Context, b *object.Bucket, m Manifest) (name string, err error) {
	text, err := json.Marshal(m)
	if err != nil {
		return "", err
	}
	name = manifestsDir + m.At.Format(nameTime) + "-" + object.SumOf(text).SHA256 + suffix
	return name, b.PutBytes(ctx, name, text)
}

// listManifests reads the manifests in a bucket. Objects with other names are of others.
// It fails when none of them can be read.
func listManifests(ctx context.Context, b *object.Bucket) (all manifests, err error) {
	objects, err := b.List(ctx, manifestsDir)
	if err != nil {
		return all, err
	}
	var problems []error
	for _, o := range objects {
		text, sum, ok := strings.Cut(strings.TrimSuffix(strings.TrimPrefix(o.Name, manifestsDir), suffix), "-")
		at, timeErr := time.Parse(nameTime, text)
		if !ok || timeErr != nil {
			continue
		}
		m, err := readManifest(ctx, b, o.Name, sum)
		switch {
		case errors.Is(err, object.ErrMissing): // another backup ended meanwhile
			continue
		case errors.As(err, new(*manifestError)):
			all.unread = append(all.unread, unread{o.Name, err})
			problems = append(problems, err)
		case err != nil:
			return all, err
		default:
			all.whole = append(all.whole, named{o.Name, o.StoredAt, m})
		}
		if at.After(all.last) {
			all.last = at
		}
	}
	if len(all.whole) == 0 {
		return all, errors.Join(problems...)
	}
	slices.SortFunc(all.whole, func(x, y named) int { return compareText(x.name, y.name) })
	return all, nil
}

// warnFuture says when the newest backup is of a time that is not yet.
func (c Config) warnFuture(last time.Time) {
	if last.Sub(c.Now()) > time.Minute {
		c.Log.Warn("the newest backup is dated in the future: this clock is behind, or one was ahead; later backups are named after it", "at", last)
	}
}

// manifestError says that a manifest is not what was written, or of a newer program.
type manifestError struct{ address, problem string }

func (e *manifestError) Error() string {
	return fmt.Sprintf("read the backup %s: %s", e.address, e.problem)
}

func readManifest(ctx context.Context, b *object.Bucket, name, sum string) (m Manifest, err error) {
	text, err := b.Read(ctx, name, mostManifest)
	if err != nil {
		return m, err
	}
	if object.SumOf(text).SHA256 != sum {
		return m, &manifestError{b.Address(name), "its bytes are not those of its checksum"}
	}
	if err := json.Unmarshal(text, &m); err != nil || m.Kind != manifestKind {
		return m, &manifestError{b.Address(name), "it is no manifest of a backup"}
	}
	if m.Format > manifestFormat {
		return m, &manifestError{b.Address(name), fmt.Sprintf("placementsync %s wrote it in format %d and this program knows %d: use that program or a newer one",
			m.Program, m.Format, manifestFormat)}
	}
	known := make(map[string]bool, len(m.Files))
	for _, f := range m.Files {
		if known[f.File] {
			return m, &manifestError{b.Address(name), fmt.Sprintf("it names %q twice", f.File)}
		}
		known[f.File] = true
	}
	return m, nil
}

// readNewest returns the backup that a restore reads. A newer one that cannot be read is
// an error: it may have what this one has not.
func (c Config) readNewest(ctx context.Context) (Manifest, error) {
	all, err := listManifests(ctx, c.Bucket)
	if err != nil {
		return Manifest{}, err
	}
	if len(all.whole) == 0 {
		return Manifest{}, fmt.Errorf("find a backup in %s: there is none: check bucket and prefix, or run placementsync backup", c.Bucket.Address(""))
	}
	c.warnFuture(all.last)
	newest := all.whole[len(all.whole)-1]
	for _, one := range all.unread {
		switch {
		case one.name < newest.name:
		case c.Older:
			c.Log.Warn("a newer backup cannot be read, an older one is taken", "error", one.err, "run", newest.Run, "at", newest.At)
		default:
			return Manifest{}, fmt.Errorf("%w; the newest one that can be read is that of %s, of %s; nothing was changed: --older takes that one",
				one.err, newest.Run, newest.At.Format(time.DateTime))
		}
	}
	return newest.Manifest, nil
}

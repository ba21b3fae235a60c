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

// named is a manifest with the name of its object.
type named struct {
	name string
	Manifest
}

func writeManifest(ctx context.Context, b *object.Bucket, m Manifest) (name string, err error) {
	text, err := json.Marshal(m)
	if err != nil {
		return "", err
	}
	name = manifestsDir + m.At.Format("20060102T150405.000Z") + "-" + object.SumOf(text).SHA256 + suffix
	return name, b.PutBytes(ctx, name, text)
}

// listManifests reads the manifests in a bucket, oldest first. Objects with other names
// are of others. A damaged one is passed over as long as another one is whole.
func listManifests(ctx context.Context, b *object.Bucket) (whole []named, err error) {
	objects, err := b.List(ctx, manifestsDir)
	if err != nil {
		return nil, err
	}
	var problems []error
	for _, o := range objects {
		at, sum, ok := strings.Cut(strings.TrimSuffix(strings.TrimPrefix(o.Name, manifestsDir), suffix), "-")
		if _, timeErr := time.Parse("20060102T150405.000Z", at); !ok || timeErr != nil {
			continue
		}
		m, err := readManifest(ctx, b, o.Name, sum)
		switch {
		case errors.Is(err, object.ErrMissing): // another backup ended meanwhile
		case errors.As(err, new(*manifestError)):
			problems = append(problems, err)
		case err != nil:
			return nil, err
		default:
			whole = append(whole, named{o.Name, m})
		}
	}
	if len(whole) == 0 {
		return nil, errors.Join(problems...)
	}
	slices.SortFunc(whole, func(x, y named) int { return compareText(x.name, y.name) })
	return whole, nil
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
	return m, nil
}

// newest is the backup that a restore reads.
func newest(ctx context.Context, b *object.Bucket) (Manifest, error) {
	all, err := listManifests(ctx, b)
	if err != nil {
		return Manifest{}, err
	}
	if len(all) == 0 {
		return Manifest{}, fmt.Errorf("find a backup in %s: there is none: check bucket and prefix, or run placementsync backup", b.Address(""))
	}
	return all[len(all)-1].Manifest, nil
}

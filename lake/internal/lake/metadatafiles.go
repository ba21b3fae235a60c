package lake

import (
	"context"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/apache/iceberg-go/table"
)

// The name of a metadata file begins with a number, and ends with metadataSuffix.
const metadataSuffix = ".metadata.json"

// metadataNumber returns the number in the name of a metadata file, or -1 if the name has none.
func metadataNumber(file string) int {
	number, _, _ := strings.Cut(path.Base(file), "-")
	n, err := strconv.Atoi(number)
	if err != nil {
		return -1
	}
	return n
}

// listMetadata returns the metadata files in the folders of the tables of a version. It returns no files for a
// REST catalog, whose server writes and removes them.
func (l *Lake) listMetadata(ctx context.Context, v *Version, lakeTables tables) (map[tableName][]string, error) {
	listed := make([][]string, len(v.sources))
	err := eachIndex(l.files.workers(), len(v.sources), func(i int) (err error) {
		n := v.sources[i].name
		folder := l.cfg.tableFolder(l.files.root, n)
		if t := lakeTables[n]; t != nil {
			folder = t.Location()
		}
		listed[i], err = l.listMetadataOf(ctx, folder)
		return err
	})
	metadataFiles := map[tableName][]string{}
	for i, s := range v.sources {
		metadataFiles[s.name] = listed[i]
	}
	return metadataFiles, err
}

func (l *Lake) listMetadataOf(ctx context.Context, folder string) (names []string, err error) {
	if l.cfg.Catalog == RESTful {
		return nil, nil
	}
	listed, err := l.files.list(ctx, canonicalAddress(folder)+"/metadata")
	for _, f := range listed {
		if strings.HasSuffix(f.Name, metadataSuffix) {
			names = append(names, f.Name)
		}
	}
	return names, err
}

// hasNewerMetadata reports whether the folder of a table contains a metadata file that some readers take for
// the newest, although the catalog refers to another file. A publisher that was killed during its commit leaves
// such files.
func hasNewerMetadata(t *table.Table, metadataFiles []string) bool {
	if t == nil {
		return false
	}
	committed := canonicalAddress(t.MetadataLocation())
	return slices.ContainsFunc(metadataFiles, func(file string) bool {
		return file != committed && metadataNumber(file) >= metadataNumber(committed)
	})
}

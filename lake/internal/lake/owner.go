package lake

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/apache/iceberg-go/table"
	"github.com/google/uuid"
)

// owner is the content of the owner file. The file names the catalog that owns the files of the lake.
// Another catalog must not write or remove files there. The owner file is written after the first commit,
// so an empty catalog is never the owner.
type owner struct {
	ID        string `json:"lake_id"`
	Catalog   string `json:"catalog_name"`
	Namespace string `json:"namespace"`
	Program   string `json:"program"`
}

// Properties of every table: the id of its lake, and the name under which it was created. A copy
// of a table keeps both properties, but is registered under another name.
const (
	lakeProperty  = "placementsync.lake-id"
	tableProperty = "placementsync.table"
)

// ownerFile returns the address of the owner file. It is empty if a server chooses the
// folders of tables.
func (l *Lake) ownerFile() string {
	if l.files.root == "" {
		return ""
	}
	return l.files.root + "/" + l.cfg.Namespace + "_owner.json"
}

// tableFolder returns the folder of a table below the folder root. It is not used if a server
// chooses the folders.
func (c Config) tableFolder(root string, n tableName) string {
	return root + "/" + c.namespace(n.part) + "/" + n.table
}

// hasOwnName reports whether a table has the name under which a publish created it. A copy, for
// example by register_table, has another name.
func hasOwnName(n tableName, t *table.Table) bool {
	return t.Metadata().Properties()[tableProperty] == n.String()
}

// ownTables returns the tables that a publish created and that are still at their original location.
// The namespaces may also contain copies that share files, and tables of other programs.
func (l *Lake) ownTables(lakeTables tables) tables {
	own := tables{}
	for n, t := range lakeTables {
		isInPlace := l.cfg.Catalog == RESTful || canonicalAddress(t.Location()) == canonicalAddress(l.cfg.tableFolder(l.files.root, n))
		if isInPlace && hasOwnName(n, t) {
			own[n] = t
		}
	}
	return own
}

// canonicalAddress returns one spelling for all addresses of a file. Engines use several schemes for
// the same storage.
func canonicalAddress(address string) string {
	address = strings.TrimRight(address, "/")
	for _, scheme := range []string{"s3a://", "s3n://"} {
		if rest, ok := strings.CutPrefix(address, scheme); ok {
			return "s3://" + rest
		}
	}
	rest, isFile := strings.CutPrefix(address, "file:")
	if isFile || strings.HasPrefix(address, "/") {
		return "file:///" + strings.TrimLeft(rest, "/")
	}
	return address
}

// checkOwner sets the id of the lake. It reads the id from the owner file or from the tables, or creates
// an id before the first night. It returns an error if the owner file names another catalog, or if the
// file exists although this catalog has no tables. ownerFileMissing is false if no owner file is needed.
func (l *Lake) checkOwner(lakeTables tables) (ownerFileMissing bool, err error) {
	var ids []string
	for n, t := range lakeTables {
		if hasOwnName(n, t) {
			ids = append(ids, t.Metadata().Properties()[lakeProperty])
		}
	}
	slices.Sort(ids)
	o, err := l.readOwner()
	switch {
	case err != nil:
		return false, fmt.Errorf("%w; nothing was changed", err)
	case o.ID != "" && len(ids) == 0: // this catalog may be the owner, and its tables may be lost
		return false, fmt.Errorf("open the lake: %s names the catalog %q as the owner of the tables there, and this catalog has no tables; nothing was changed: "+
			"restore the catalog of the lake, or set another lake.namespace or lake.warehouse; if the old tables are not needed, remove %[1]s", l.ownerFile(), o.Catalog)
	case o.ID != "" && !slices.Contains(ids, o.ID):
		return false, fmt.Errorf("%w; nothing was changed", l.otherOwnerErr(o))
	case o.ID != "":
		l.id = o.ID
	case len(ids) > 0:
		l.id = ids[0]
	default:
		l.id = uuid.NewString()
	}
	return o.ID == "" && l.ownerFile() != "", nil
}

func (l *Lake) otherOwnerErr(o owner) error {
	return fmt.Errorf("open the lake: %s names another catalog, %q, as the owner of the tables there: "+
		"set another lake.namespace or lake.warehouse for one of the two catalogs", l.ownerFile(), o.Catalog)
}

// readOwner reads the owner file. It returns the zero value if the file does not exist.
func (l *Lake) readOwner() (o owner, err error) {
	file := l.ownerFile()
	if file == "" {
		return o, nil
	}
	text, err := l.files.readAll(file)
	if errors.Is(err, fs.ErrNotExist) {
		return o, nil
	}
	if err == nil {
		err = json.Unmarshal(text, &o)
	}
	if err == nil && o.ID == "" {
		err = errors.New("it has no lake_id")
	}
	if err != nil {
		err = fmt.Errorf("read the owner file %s: %w: restore the file; "+
			"if no other catalog has tables there, remove it and run \"placementsync lake publish --all\", which writes a new one", file, err)
	}
	return o, err
}

// writeOwnerFile writes the owner file after a commit, if the file is missing.
func (l *Lake) writeOwnerFile() error {
	o, err := l.readOwner()
	if err == nil && (o.ID == l.id || l.ownerFile() == "") {
		return nil
	}
	if err == nil && o.ID != "" { // two catalogs published their first night at the same time
		err = l.otherOwnerErr(o)
	}
	if err != nil {
		return fmt.Errorf("%w; the night was committed to this catalog", err)
	}
	text, err := json.MarshalIndent(owner{l.id, l.cfg.Name, l.cfg.Namespace, l.cfg.Program}, "", "  ")
	if err != nil {
		return err
	}
	if l.files.local {
		err = l.files.disk.WriteAtomically(localPath(l.ownerFile()), publicFile, func(f *os.File) error {
			_, err := f.Write(text)
			return errors.Join(err, l.files.setMode(f))
		})
	} else {
		err = l.files.WriteFile(l.ownerFile(), text)
		l.files.uncommitted.drain()
	}
	if err != nil {
		return fmt.Errorf("write the owner file %s: %w; the night was committed to the lake: run \"placementsync lake publish --all\" again", l.ownerFile(), err)
	}
	return nil
}

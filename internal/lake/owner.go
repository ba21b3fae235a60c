package lake

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"
	"github.com/google/uuid"
)

// owner says which lake has the tables of a namespace in a folder or bucket: another
// catalog must not write or remove files there. It is written behind the first commit, so
// that a catalog without tables is not the one that it is of.
type owner struct {
	ID        string `json:"lake_id"`
	Catalog   string `json:"catalog_name"`
	Namespace string `json:"namespace"`
	Program   string `json:"program"`
}

// Properties of every table: which lake it is of, and which table it was made as. A copy
// has another name.
const (
	lakeProperty  = "placementsync.lake-id"
	tableProperty = "placementsync.table"
)

// OwnerError says that the tables in the folder are not of this catalog.
type OwnerError struct {
	// File is the object that says so, Catalog how it calls the other one.
	File, Catalog string
	// IsEmpty says that this catalog has no tables: it may be the other one, after a loss.
	IsEmpty bool
}

func (e *OwnerError) Error() string {
	if e.IsEmpty {
		return fmt.Sprintf("look for the owner of the lake: by %s, the catalog %q has tables there, and this one has none; nothing was changed: "+
			"restore the catalog (catalog.db), or name another lake.namespace or lake.warehouse; if the old tables are not needed, remove that file", e.File, e.Catalog)
	}
	return fmt.Sprintf("look for the owner of the lake: by %s, the tables there are of another catalog, which is called %q; nothing was changed: "+
		"name another lake.namespace or lake.warehouse for one of the two", e.File, e.Catalog)
}

// ownerFile is the address of the object with the owner; empty where a server decides on
// the places.
func (l *Lake) ownerFile() string {
	if l.files.root == "" {
		return ""
	}
	return l.files.root + "/" + l.cfg.Namespace + "_owner.json"
}

// tableFolder is where a new table is, unless a server decides on the places.
func (c Config) tableFolder(root string, n tableName) string {
	return root + "/" + c.namespace(n.part) + "/" + n.name
}

// nameOwner is the update that lets a table say whose it is.
func (l *Lake) nameOwner(n tableName) table.Update {
	return table.NewSetPropertiesUpdate(iceberg.Properties{lakeProperty: l.id, tableProperty: n.String()})
}

// hasOwnName reports whether a table has the name that a publish made it with. Copies, as
// register_table makes them, have another one.
func hasOwnName(n tableName, t *table.Table) bool {
	return t.Metadata().Properties()[tableProperty] == n.String()
}

// ownTables are the tables that a publish made, where it made them. Others may be in the
// namespaces: copies that share the files of one, or tables of other programs.
func (l *Lake) ownTables(have tables) tables {
	own := tables{}
	for n, t := range have {
		isAt := l.cfg.Catalog == RESTful || sameAddress(t.Location()) == sameAddress(l.cfg.tableFolder(l.files.root, n))
		if isAt && hasOwnName(n, t) {
			own[n] = t
		}
	}
	return own
}

// sameAddress writes an address as this program does: engines have other schemes for the
// same places.
func sameAddress(address string) string {
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

// checkOwner finds out the id of the lake, a new one before its first night. It returns
// an *OwnerError when another catalog has the tables in the folder.
func (l *Lake) checkOwner(have tables) error {
	var ids []string
	for n, t := range have {
		if hasOwnName(n, t) {
			ids = append(ids, t.Metadata().Properties()[lakeProperty])
		}
	}
	slices.Sort(ids)
	o, err := l.readOwner()
	switch {
	case err != nil:
		return err
	case o.ID != "" && !slices.Contains(ids, o.ID):
		return &OwnerError{l.ownerFile(), o.Catalog, len(ids) == 0}
	case o.ID != "":
		l.id = o.ID
	case len(ids) > 0:
		l.id = ids[0]
	default:
		l.id = uuid.NewString()
	}
	l.isMarked = o.ID != "" || l.ownerFile() == ""
	return nil
}

// readOwner reads the object with the owner; the zero value if there is none.
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
		err = fmt.Errorf("read %s, which says whose the tables are: %w; nothing was changed: "+
			"restore it, or remove it if no other catalog has tables there, and the next publish writes it again", file, err)
	}
	return o, err
}

// markOwner writes the object with the owner, if it is not there.
func (l *Lake) markOwner() error {
	if l.isMarked {
		return nil
	}
	o, err := l.readOwner()
	if err != nil {
		return err
	}
	if o.ID != "" && o.ID != l.id { // two catalogs published their first night at once
		return &OwnerError{l.ownerFile(), o.Catalog, false}
	}
	text, err := json.MarshalIndent(owner{l.id, l.cfg.Name, l.cfg.Namespace, l.cfg.Program}, "", "  ")
	if err != nil {
		return err
	}
	if l.files.local {
		const public = 0o644
		err = l.files.disk.WriteFile(localPath(l.ownerFile()), text, public)
	} else {
		err = l.files.WriteFile(l.ownerFile(), text)
		l.files.made.drain()
	}
	if err != nil {
		return fmt.Errorf("write %s, which says whose the tables are: %w; the night is published: publish it again", l.ownerFile(), err)
	}
	l.isMarked = true
	return nil
}

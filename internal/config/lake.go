package config

import (
	"net/url"
	"regexp"
	"strings"
)

// Lake configures the Iceberg catalog and the location of its tables.
type Lake struct {
	// Catalog is [LakeSQLite], sqlite:FILE, [LakeRESTServer], or the address of a Postgres database.
	// Empty disables the lake.
	Catalog              string   `yaml:"catalog"`
	Warehouse            string   `yaml:"warehouse"`
	Namespace            string   `yaml:"namespace"`
	Name                 string   `yaml:"name"`
	KeepNights           int      `yaml:"keep_nights"`
	PostgresPasswordFile string   `yaml:"postgres_password_file"`
	REST                 LakeREST `yaml:"rest"`
}

// The values of lake.catalog besides addresses of Postgres.
const (
	LakeSQLite     = "sqlite" // catalog.db beside the tables; the value sqlite:FILE names another file
	LakeRESTServer = "rest"   // see [LakeREST]
)

// LakeREST configures the server of a REST catalog.
type LakeREST struct {
	URI            string `yaml:"uri"`
	Warehouse      string `yaml:"warehouse"`
	TokenFile      string `yaml:"token_file"`
	CredentialFile string `yaml:"credential_file"`
	OAuthURI       string `yaml:"oauth_uri"`
	Scope          string `yaml:"scope"`
	SigningName    string `yaml:"signing_name"`
	SigningRegion  string `yaml:"signing_region"`
}

// ReadPassword returns the content of PostgresPasswordFile, or "" if no file is set. The
// error never contains the password.
func (l Lake) ReadPassword() (Secret, error) {
	return readSecret("lake.postgres_password_file", l.PostgresPasswordFile)
}

// ReadToken returns the content of TokenFile, see [Lake.ReadPassword].
func (r LakeREST) ReadToken() (Secret, error) {
	return readSecret("lake.rest.token_file", r.TokenFile)
}

// ReadCredential returns the content of CredentialFile, see [Lake.ReadPassword].
func (r LakeREST) ReadCredential() (Secret, error) {
	return readSecret("lake.rest.credential_file", r.CredentialFile)
}

var (
	namespaceName = regexp.MustCompile(`^[a-z][a-z0-9_]{0,63}$`)
	catalogName   = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)
)

func (v *validator) checkLake(l Lake) {
	if !namespaceName.MatchString(l.Namespace) {
		v.refuse("lake.namespace", l.Namespace, "is not accepted by every engine: use lower-case letters, digits and _, such as placements")
	}
	if !catalogName.MatchString(l.Name) {
		v.refuse("lake.name", l.Name, "is not a catalog name: use letters, digits, - and _, such as placementsync")
	}
	checkBetween(v, "lake.keep_nights", l.KeepNights, 0, 36500)
	isRemote := strings.Contains(l.Warehouse, "://")
	if isRemote {
		v.checkLakeAddress(l.Warehouse)
	}
	if l.Catalog == "" {
		return // there is no lake
	}
	if l.Catalog == LakeRESTServer {
		v.checkLakeREST(l.REST)
		return
	}
	if l.Warehouse == "" {
		v.addProblem("lake.warehouse", "is empty: give the folder or the address of the tables, such as ./lake or s3://bucket/prefix")
		return
	}
	if l.Catalog == LakeSQLite {
		if isRemote {
			v.addProblem("lake.catalog", "sqlite needs a local folder, and lake.warehouse is in object storage: name the catalog file as sqlite:FILE, or use Postgres or a REST catalog")
		}
		return
	}
	if file, isFile := strings.CutPrefix(l.Catalog, LakeSQLite+":"); isFile {
		if file == "" {
			v.addProblem("lake.catalog", unknownCatalog)
		}
		return
	}
	v.checkPostgres(l.Catalog)
}

func (v *validator) checkLakeAddress(address string) {
	if !strings.HasPrefix(address, BucketScheme) {
		v.addProblem("lake.warehouse", "is neither a folder nor an address in object storage: write one such as ./lake or s3://bucket/prefix")
		return
	}
	v.checkBucket("lake.warehouse", address)
}

const unknownCatalog = "is not allowed: use sqlite, sqlite:FILE, rest, or an address such as postgres://user@host:5432/database"

// checkPostgres does not quote the address, which may contain a password.
func (v *validator) checkPostgres(address string) {
	const key = "lake.catalog"
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "postgres" && u.Scheme != "postgresql" {
		v.addProblem(key, unknownCatalog)
		return
	}
	_, hasPassword := u.User.Password()
	switch {
	case hasPassword || u.Query().Has("password"):
		v.addProblem(key, "contains a password: remove it, and use lake.postgres_password_file or PGPASSWORD")
	case strings.Trim(u.Path, "/") == "":
		v.addProblem(key, "names no database: write an address such as postgres://user@host:5432/database")
	}
}

func (v *validator) checkLakeREST(r LakeREST) {
	address := webAddress{path: "lake.rest.uri", text: r.URI, example: "https://catalog.example.com",
		credentialAdvice: "remove them, and use lake.rest.token_file or lake.rest.credential_file",
		plainProblem:     "would send credentials unencrypted: use https"}
	v.checkAddress(address)
	if r.OAuthURI != "" {
		address.path, address.text = "lake.rest.oauth_uri", r.OAuthURI
		v.checkAddress(address)
	}
	if r.TokenFile != "" && r.CredentialFile != "" {
		v.addProblem("lake.rest.credential_file", "is set, and lake.rest.token_file too: remove one of the two")
	}
	if (r.SigningName == "") != (r.SigningRegion == "") {
		v.addProblem("lake.rest.signing_name", "needs lake.rest.signing_region, and the region needs the name: set both, or remove both")
	}
}

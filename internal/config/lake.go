package config

import (
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"regexp"
	"strings"
)

// Lake is where nights are published as Iceberg tables.
type Lake struct {
	// Catalog registers the tables: [LakeSQLite], [LakeServer], or postgres:// with user,
	// host and database; empty: no lake.
	Catalog string `yaml:"catalog"`
	// Warehouse is the folder or the s3:// address of the tables. It is empty where a
	// REST catalog decides.
	Warehouse string `yaml:"warehouse"`
	// Namespace is the prefix of the namespaces _current, _past and _meta.
	Namespace string `yaml:"namespace"`
	// Name is what readers call an SQL catalog.
	Name string `yaml:"name"`
	// KeepNights is the number of nights that readers can ask for by tag; 0: all.
	KeepNights int `yaml:"keep_nights"`
	// PostgresPasswordFile holds the password; empty: PGPASSWORD or ~/.pgpass.
	PostgresPasswordFile string   `yaml:"postgres_password_file"`
	REST                 LakeREST `yaml:"rest"`
}

// The values of lake.catalog besides addresses of Postgres.
const (
	LakeSQLite = "sqlite" // catalog.db beside the tables, or sqlite:FILE
	LakeServer = "rest"   // see [LakeREST]
)

// LakeREST is the server of a REST catalog.
type LakeREST struct {
	// URI is the address of the server.
	URI string `yaml:"uri"`
	// Warehouse is what the server calls the warehouse; empty: it has one.
	Warehouse string `yaml:"warehouse"`
	// TokenFile holds a bearer token, CredentialFile client_id:client_secret for OAuth 2.
	TokenFile      string `yaml:"token_file"`
	CredentialFile string `yaml:"credential_file"`
	// OAuthURI is where the credential becomes a token; empty: the server itself.
	OAuthURI string `yaml:"oauth_uri"`
	Scope    string `yaml:"scope"`
	// SigningName and SigningRegion sign requests with the keys of AWS: glue or s3tables.
	SigningName   string `yaml:"signing_name"`
	SigningRegion string `yaml:"signing_region"`
}

// ReadPassword returns the content of PostgresPasswordFile, read with readFile; empty
// without a file. The error never contains it.
func (l Lake) ReadPassword(readFile func(string) ([]byte, error)) (Secret, error) {
	return readSecret("lake.postgres_password_file", l.PostgresPasswordFile, readFile)
}

// ReadToken returns the content of TokenFile, see [Lake.ReadPassword].
func (r LakeREST) ReadToken(readFile func(string) ([]byte, error)) (Secret, error) {
	return readSecret("lake.rest.token_file", r.TokenFile, readFile)
}

// ReadCredential returns the content of CredentialFile, see [Lake.ReadPassword].
func (r LakeREST) ReadCredential(readFile func(string) ([]byte, error)) (Secret, error) {
	return readSecret("lake.rest.credential_file", r.CredentialFile, readFile)
}

func readSecret(path, file string, readFile func(string) ([]byte, error)) (Secret, error) {
	if file == "" {
		return "", nil
	}
	data, err := readFile(file)
	if err != nil {
		return "", fmt.Errorf("read %s: %w: give the path of a file that this user can read", path, err)
	}
	secret := Secret(strings.TrimSpace(string(data)))
	if secret == "" || len(secret) > maxTokenSize {
		return "", fmt.Errorf("read %s %q: it is empty or too long: write the secret alone", path, file)
	}
	return secret, nil
}

// joinSQLite makes the path of sqlite:FILE relative to a folder.
func (l *Lake) joinSQLite(dir string) {
	if file, ok := strings.CutPrefix(l.Catalog, LakeSQLite+":"); ok && file != "" && !filepath.IsAbs(file) {
		l.Catalog = LakeSQLite + ":" + filepath.Join(dir, file)
	}
}

var (
	namespaceName = regexp.MustCompile(`^[a-z][a-z0-9_]{0,63}$`)
	catalogName   = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)
)

func (v *validator) checkLake(l Lake) {
	if !namespaceName.MatchString(l.Namespace) {
		v.addProblem("lake.namespace", "%s is no name that every engine accepts: use lower-case letters, digits and _, such as placements",
			v.showValue("lake.namespace", l.Namespace))
	}
	if !catalogName.MatchString(l.Name) {
		v.addProblem("lake.name", "%s is no name: use letters, digits, - and _, such as placementsync", v.showValue("lake.name", l.Name))
	}
	checkBetween(v, "lake.keep_nights", l.KeepNights, 0, 36500)
	remote := strings.Contains(l.Warehouse, "://")
	switch {
	case remote && !strings.HasPrefix(l.Warehouse, BucketScheme):
		v.addProblem("lake.warehouse", "is neither a folder nor an address in object storage: write one such as ./lake or s3://bucket/prefix")
	case remote:
		v.checkBucket("lake.warehouse", l.Warehouse)
	}
	switch {
	case l.Catalog == "":
	case l.Catalog == LakeServer:
		v.checkLakeREST(l.REST)
	case l.Warehouse == "":
		v.addProblem("lake.warehouse", "is empty: give the folder or the address of the tables, such as ./lake or s3://bucket/prefix")
	case l.Catalog == LakeSQLite && remote:
		v.addProblem("lake.catalog", "sqlite is a file beside the tables, and lake.warehouse is no folder: name the file as sqlite:FILE, or use Postgres or a REST catalog")
	case l.Catalog != LakeSQLite && !strings.HasPrefix(l.Catalog, LakeSQLite+":"):
		if err := checkPostgres(l.Catalog); err != nil {
			v.addProblem("lake.catalog", "%v", err)
		}
	}
}

// checkPostgres checks an address of Postgres. Its error does not quote the address,
// which may contain a password.
func checkPostgres(address string) error {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "postgres" && u.Scheme != "postgresql" {
		return errors.New("is not allowed: use sqlite, sqlite:FILE, rest, or an address such as postgres://user@host:5432/database")
	}
	if _, has := u.User.Password(); has || u.Query().Has("password") {
		return errors.New("contains a password: remove it, and use lake.postgres_password_file or PGPASSWORD")
	}
	if strings.Trim(u.Path, "/") == "" {
		return errors.New("names no database: write an address such as postgres://user@host:5432/database")
	}
	return nil
}

func (v *validator) checkLakeREST(r LakeREST) {
	for _, one := range []struct {
		path, address string
		needed        bool
	}{{"lake.rest.uri", r.URI, true}, {"lake.rest.oauth_uri", r.OAuthURI, false}} {
		u, err := url.Parse(one.address)
		switch {
		case one.address == "" && !one.needed:
		case err != nil || !isWeb(u):
			v.addProblem(one.path, "is not an absolute http or https address: write one such as https://catalog.example.com")
		case u.User != nil:
			v.addProblem(one.path, "contains credentials: remove them, and use lake.rest.token_file or lake.rest.credential_file")
		case u.Scheme == "http" && !isLoopback(u.Hostname()):
			v.addProblem(one.path, "%s would send credentials unencrypted: use https", v.showValue(one.path, u.Scheme+"://"+u.Host))
		}
	}
	if r.TokenFile != "" && r.CredentialFile != "" {
		v.addProblem("lake.rest.credential_file", "is set, and lake.rest.token_file too: keep one of the two")
	}
	if (r.SigningName == "") != (r.SigningRegion == "") {
		v.addProblem("lake.rest.signing_name", "and lake.rest.signing_region are set together or not at all")
	}
}

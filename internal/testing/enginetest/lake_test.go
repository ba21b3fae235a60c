package enginetest_test

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"placementsync/internal/testing/harness"
	"placementsync/internal/testing/s3sim"
)

const (
	namespacePrefix = "placements"
	lakeCatalogName = "placementsync"
)

// TestEnginesReadALake publishes all nights of the demo into four lakes. Engines read every table of
// every night from each lake. A lake or an engine is skipped if the machine lacks a program for it.
func TestEnginesReadALake(t *testing.T) {
	e := equip(t)
	d := makeDemo(t, e)
	t.Run("SQLite", func(t *testing.T) { d.testSQLiteLake(t, e) })
	t.Run("Postgres", func(t *testing.T) { d.testPostgresLake(t, e) })
	t.Run("S3", func(t *testing.T) { d.testS3Lake(t, e) })
	t.Run("REST", func(t *testing.T) { d.testRESTLake(t, e) })
}

func (d demo) testSQLiteLake(t *testing.T, e equipment) {
	folder := filepath.Join(d.dir, "lake")
	d.publish(t, e, "sqlite", fmt.Sprintf("lake: {catalog: sqlite, warehouse: ./lake, name: %s, namespace: %s}\n", lakeCatalogName, namespacePrefix))
	j := d.job("SQLite", lakeCatalogName)
	j.PyIceberg = map[string]string{"type": "sql", "uri": "sqlite:///" + filepath.Join(folder, "catalog.db"), "warehouse": "file://" + folder}
	e.run(t, "read_lake.py", j)
	t.Run("spark", func(t *testing.T) {
		requirePrograms(t, "java", "mvn")
		j := d.job("SQLite", lakeCatalogName)
		j.Spark = sparkCatalog(t, e, e.installJars(t), lakeCatalogName, map[string]string{
			"catalog-impl": "org.apache.iceberg.jdbc.JdbcCatalog", "uri": "jdbc:sqlite:" + filepath.Join(folder, "catalog.db"),
			"jdbc.schema-version": "V1", "warehouse": "file://" + folder})
		e.run(t, "spark_lake.py", j)
	})
}

// postgresVar is the environment variable with the address of a Postgres database, for example
// postgres://lake@127.0.0.1/lake. Its password is in PGPASSWORD. The tests of lake/cmd/lake use the same variable.
const postgresVar = "PLACEMENTSYNC_TEST_POSTGRES"

func (d demo) testPostgresLake(t *testing.T, e equipment) {
	address, password := os.Getenv(postgresVar), os.Getenv("PGPASSWORD")
	if address == "" {
		t.Skipf("%s is not set, for example to postgres://lake@127.0.0.1/lake", postgresVar)
	}
	catalog := fmt.Sprint(lakeCatalogName, "_", time.Now().UnixNano())
	harness.Must(t, os.WriteFile(filepath.Join(d.dir, "password"), []byte(password), 0o600))
	d.publish(t, e, "postgres", fmt.Sprintf("lake: {catalog: %q, postgres_password_file: password, warehouse: ./lake-postgres, name: %s, namespace: %s}\n",
		address, catalog, namespacePrefix))
	uri, err := url.Parse(address)
	harness.Must(t, err)
	uri.Scheme, uri.User = "postgresql+psycopg2", url.UserPassword(uri.User.Username(), password)
	j := d.job("Postgres", catalog)
	j.PyIceberg = map[string]string{"type": "sql", "uri": uri.String(), "warehouse": "file://" + filepath.Join(d.dir, "lake-postgres")}
	e.run(t, "read_lake.py", j)
}

func (d demo) testS3Lake(t *testing.T, e equipment) {
	server := s3sim.StartGateway(t, os.Getenv, "nights")
	for name, text := range map[string]string{"access": s3sim.AccessKey, "secret": s3sim.SecretKey} {
		harness.Must(t, os.WriteFile(filepath.Join(d.dir, name), []byte(text), 0o600))
	}
	d.publish(t, e, "s3", fmt.Sprintf("lake: {catalog: 'sqlite:bucket.db', warehouse: s3://nights/lake, name: %s, namespace: %s}\n", lakeCatalogName, namespacePrefix)+
		fmt.Sprintf("s3: {endpoint: %q, region: %s, path_style: true, access_key_file: access, secret_key_file: secret}\n", server.URL, s3sim.Region))
	j := d.job("S3", lakeCatalogName)
	j.PyIceberg = map[string]string{"type": "sql", "uri": "sqlite:///" + filepath.Join(d.dir, "bucket.db"), "warehouse": "s3://nights/lake",
		"s3.endpoint": server.URL, "s3.region": s3sim.Region, "s3.access-key-id": s3sim.AccessKey, "s3.secret-access-key": s3sim.SecretKey}
	e.run(t, "read_lake.py", j)
}

// testRESTLake reads with Spark and with Trino: the tables, the published views, and the views that
// the statements of dialect.Engine create.
func (d demo) testRESTLake(t *testing.T, e equipment) {
	requirePrograms(t, "java", "mvn")
	runtimeJar := e.installJars(t)
	const restCatalogName = "lake"
	address := serveREST(t, e, filepath.Join(d.dir, "rest"))
	publish := func() {
		d.publish(t, e, "rest", fmt.Sprintf("lake: {catalog: rest, name: %s, namespace: %s, rest: {uri: %q}}\n", restCatalogName, namespacePrefix, address), "--views")
	}
	publish()
	t.Run("spark", func(t *testing.T) {
		j := d.job("REST", restCatalogName)
		j.Spark = sparkCatalog(t, e, runtimeJar, restCatalogName, map[string]string{"type": "rest", "uri": address})
		j.Cases = d.cases(t, "spark", restCatalogName)
		e.run(t, "spark_lake.py", j)
	})
	publish() // creates the views again, because Spark has removed them
	t.Run("trino", func(t *testing.T) {
		j := d.job("REST", restCatalogName)
		j.Trino = "connector.name=iceberg\niceberg.catalog.type=rest\niceberg.rest-catalog.uri=" + address + "\nfs.hadoop.enabled=true\n"
		j.Cases = d.cases(t, "trino", restCatalogName)
		e.run(t, "trino_lake.py", j)
	})
}

// cases returns two cases. The first reads the published views. The second creates the views with the
// statements of dialect.Engine and reads them.
func (d demo) cases(t *testing.T, engineName, lakeCatalog string) []sqlCase {
	t.Helper()
	created := newCase(t, findEngine(t, engineName), lakeCatalog, caseSpec{name: "lake", duckDBPath: d.nights[len(d.nights)-1].DuckDBPath, lakePrefix: namespacePrefix})
	published := created
	published.Name, published.ViewStatements = "published views", []string{}
	return []sqlCase{published, created}
}

// sparkCatalog returns the configuration of a catalog in Spark.
func sparkCatalog(t *testing.T, e equipment, runtimeJar, name string, properties map[string]string) map[string]string {
	t.Helper()
	drivers, err := filepath.Glob(e.path("jars", "rest", "sqlite-jdbc-*.jar"))
	harness.Must(t, err)
	c := map[string]string{
		"spark.jars":                  runtimeJar + "," + drivers[0],
		"spark.driver.extraClassPath": drivers[0],
		"spark.sql.extensions":        "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions",
		"spark.sql.catalog." + name:   "org.apache.iceberg.spark.SparkCatalog",
	}
	for key, value := range properties {
		c["spark.sql.catalog."+name+"."+key] = value
	}
	return c
}

// demo is the folder that the command "demo" creates, and the published nights in it, oldest first.
type demo struct {
	dir    string
	nights []night
}

// makeDemo builds the programs and runs the demo with them.
func makeDemo(t *testing.T, e equipment) demo {
	t.Helper()
	d := demo{dir: t.TempDir()}
	for module, name := range map[string]string{"../../..": "sync", "../../../lake": "lake"} {
		runIn(t, module, "go", "build", "-trimpath", "-tags", "duckdb_arrow", "-o", e.path("bin", name), "./cmd/"+name)
	}
	runIn(t, d.dir, e.path("bin", "sync"), "--quiet", "demo", "--strange", "--dir", d.dir)
	paths, err := filepath.Glob(filepath.Join(d.dir, "warehouse", "versions", "*", "catalog.duckdb"))
	harness.Must(t, err)
	slices.Sort(paths)
	for _, path := range paths {
		d.nights = append(d.nights, night{filepath.Base(filepath.Dir(path)), path})
	}
	return d
}

// publish writes the configuration file name.yaml and publishes all nights into its lake. section is
// the part of the configuration that describes the lake.
func (d demo) publish(t *testing.T, e equipment, name, section string, args ...string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(d.dir, "config.yaml"))
	harness.Must(t, err)
	file := filepath.Join(d.dir, name+".yaml")
	harness.Must(t, os.WriteFile(file, append(text, section...), 0o600))
	runIn(t, d.dir, e.path("bin", "lake"), append([]string{"publish", "--all", "--config", file}, args...)...)
}

// job returns a job in which an engine reads all nights from a lake.
func (d demo) job(catalogKind, lakeCatalog string) job {
	return job{CatalogKind: catalogKind, LakeCatalog: lakeCatalog, Prefix: namespacePrefix, Nights: d.nights, Scratch: d.dir, Cases: []sqlCase{}}
}

// serveREST runs the REST catalog until the test ends. Its code is from the tests of the Iceberg project.
func serveREST(t *testing.T, e equipment, dir string) string {
	t.Helper()
	harness.Must(t, os.MkdirAll(dir, 0o755))
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	harness.Must(t, err)
	address := listener.Addr().(*net.TCPAddr)
	harness.Must(t, listener.Close())
	cmd := exec.CommandContext(t.Context(), "java", "-cp", e.path("jars", "rest")+"/*", e.path("RestCatalog.java"), fmt.Sprint(address.Port), dir)
	cmd.Stderr = t.Output()
	harness.Must(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // the server may have ended with the test's context
		_ = cmd.Wait()
	})
	base := "http://" + address.String()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, base+"/v1/config", nil)
		harness.Must(t, err)
		if response, err := http.DefaultClient.Do(request); err == nil {
			harness.Must(t, response.Body.Close())
			return base
		}
		select {
		case <-ctx.Done():
			t.Fatal("the REST catalog did not respond within a minute")
		case <-time.After(200 * time.Millisecond):
		}
	}
}

func runIn(t *testing.T, dir, name string, args ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Dir = dir
	startedAt := time.Now()
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s %v: %v\n%s", name, args, err, out)
	}
	t.Logf("%s %v: %.1f s", filepath.Base(name), args, time.Since(startedAt).Seconds())
}

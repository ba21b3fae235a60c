package enginetest_test

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

const (
	namespaces  = "placements"
	catalogName = "placementsync"
)

// TestEnginesReadALake publishes the nights of the demo into a catalog of SQLite and into a
// REST catalog, and reads every table of every night back with each engine.
func TestEnginesReadALake(t *testing.T) {
	e := equip(t, "java", "mvn")
	runtime := e.installJars(t)
	l := publishDemo(t, e)
	readers := job{Engine: "SQLite", Catalog: catalogName, Prefix: namespaces, Nights: l.nights, Scratch: l.dir}
	t.Run("readers", func(t *testing.T) {
		j := readers
		j.PyIceberg = map[string]string{"type": "sql", "uri": "sqlite:///" + filepath.Join(l.dir, "lake", "catalog.db"), "warehouse": "file://" + filepath.Join(l.dir, "lake")}
		e.run(t, "read_lake.py", j)
	})
	t.Run("spark over sqlite", func(t *testing.T) {
		j := readers
		j.Spark = sparkCatalog(t, e, runtime, catalogName, map[string]string{
			"catalog-impl": "org.apache.iceberg.jdbc.JdbcCatalog", "uri": "jdbc:sqlite:" + filepath.Join(l.dir, "lake", "catalog.db"),
			"jdbc.schema-version": "V1", "warehouse": "file://" + filepath.Join(l.dir, "lake")})
		e.run(t, "spark_lake.py", j)
	})
	newest := l.nights[len(l.nights)-1].Catalog
	rest := readers
	rest.Engine, rest.Catalog = "REST", "lake"
	t.Run("spark over REST", func(t *testing.T) {
		j := rest
		j.Spark = sparkCatalog(t, e, runtime, "lake", map[string]string{"type": "rest", "uri": l.address})
		j.Cases = []sqlCase{newCase(t, mustFind(t, "spark"), "lake", caseOf{name: "lake", catalog: newest, lake: namespaces})}
		e.run(t, "spark_lake.py", j)
	})
	t.Run("trino over REST", func(t *testing.T) {
		j := rest
		j.Trino = "connector.name=iceberg\niceberg.catalog.type=rest\niceberg.rest-catalog.uri=" + l.address + "\nfs.hadoop.enabled=true\n"
		j.Cases = []sqlCase{newCase(t, mustFind(t, "trino"), "lake", caseOf{name: "lake", catalog: newest, lake: namespaces})}
		e.run(t, "trino_lake.py", j)
	})
}

// sparkCatalog is the configuration of a catalog in Spark.
func sparkCatalog(t *testing.T, e equipment, runtime, name string, properties map[string]string) map[string]string {
	t.Helper()
	drivers, err := filepath.Glob(e.path("jars", "rest", "sqlite-jdbc-*.jar"))
	must(t, err)
	c := map[string]string{
		"spark.jars":                  runtime + "," + drivers[0],
		"spark.driver.extraClassPath": drivers[0],
		"spark.sql.extensions":        "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions",
		"spark.sql.catalog." + name:   "org.apache.iceberg.spark.SparkCatalog",
	}
	for key, value := range properties {
		c["spark.sql.catalog."+name+"."+key] = value
	}
	return c
}

// published is the demo in its lakes.
type published struct {
	dir string
	// nights are those that the warehouse still has, and that both lakes show.
	nights []version
	// address is that of the REST catalog.
	address string
}

// publishDemo makes the demo's warehouse with the programs themselves, and publishes it.
func publishDemo(t *testing.T, e equipment) published {
	t.Helper()
	l := published{dir: t.TempDir()}
	for _, name := range []string{"sync", "lake"} {
		runIn(t, "../..", "go", "build", "-trimpath", "-tags", "duckdb_arrow", "-o", e.path("bin", name), "./cmd/"+name)
	}
	runIn(t, l.dir, e.path("bin", "sync"), "--quiet", "demo", "--dir", l.dir)
	catalogs, err := filepath.Glob(filepath.Join(l.dir, "warehouse", "versions", "*", "catalog.duckdb"))
	must(t, err)
	slices.Sort(catalogs)
	for _, c := range catalogs {
		l.nights = append(l.nights, version{filepath.Base(filepath.Dir(c)), c})
	}
	l.address = serveREST(t, e, filepath.Join(l.dir, "rest"))
	plain, err := os.ReadFile(filepath.Join(l.dir, "config.yaml"))
	must(t, err)
	for name, section := range map[string]string{
		"sqlite": fmt.Sprintf("lake: {catalog: sqlite, warehouse: ./lake, name: %s, namespace: %s}\n", catalogName, namespaces),
		"rest":   fmt.Sprintf("lake: {catalog: rest, namespace: %s, rest: {uri: %q}}\n", namespaces, l.address),
	} {
		file := filepath.Join(l.dir, name+".yaml")
		must(t, os.WriteFile(file, append(slices.Clone(plain), section...), 0o600))
		runIn(t, l.dir, e.path("bin", "lake"), "publish", "--all", "--config", file)
	}
	return l
}

// serveREST starts the REST catalog of the Iceberg project's tests, until the test ends.
func serveREST(t *testing.T, e equipment, dir string) string {
	t.Helper()
	must(t, os.MkdirAll(dir, 0o755))
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	address := listener.Addr().String()
	must(t, listener.Close())
	_, port, err := net.SplitHostPort(address)
	must(t, err)
	cmd := exec.CommandContext(t.Context(), "java", "-cp", e.path("jars", "rest")+"/*", e.path("RestCatalog.java"), port, dir)
	cmd.Stderr = t.Output()
	must(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // It may have ended with the test's context.
		_ = cmd.Wait()
	})
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	for ctx.Err() == nil {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+"/v1/config", nil)
		must(t, err)
		if answer, err := http.DefaultClient.Do(request); err == nil {
			must(t, answer.Body.Close())
			return "http://" + address
		}
		select {
		case <-ctx.Done():
		case <-time.After(200 * time.Millisecond):
		}
	}
	t.Fatal("the REST catalog does not answer within a minute")
	return ""
}

func runIn(t *testing.T, dir, name string, args ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Dir = dir
	begun := time.Now()
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s %v: %v\n%s", name, args, err, out)
	}
	t.Logf("%s %v: %.1f s", filepath.Base(name), args, time.Since(begun).Seconds())
}

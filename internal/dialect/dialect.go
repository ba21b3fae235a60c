// Package dialect returns the views of the schema mart in the SQL of the engines that read a lake.
// A lake contains the published tables in Iceberg format.
// The package must not know how a lake is written or reached: it only returns text.
package dialect

import (
	"fmt"
	"path"
	"regexp"
	"strings"
	"text/template"

	"placementsync/queries"
	"placementsync/schema"
)

// Engine is a query engine with its SQL dialect.
type Engine struct {
	// Name is also the dialect name in Iceberg views.
	Name string

	// quote encloses an identifier. escaper escapes the text of a string literal.
	quote   string
	escaper *strings.Replacer
	// inlineComments is true if CREATE VIEW accepts column comments. Otherwise separate
	// COMMENT statements are used.
	inlineComments bool
}

const (
	Spark = "spark"
	Trino = "trino"
)

// Engines returns the supported engines.
func Engines() []Engine {
	return []Engine{
		{
			Name: Spark, quote: "`", inlineComments: true,
			escaper: strings.NewReplacer(`\`, `\\`, `'`, `\'`),
		},
		{
			Name: Trino, quote: `"`,
			escaper: strings.NewReplacer(`'`, `''`),
		},
	}
}

func Find(name string) (Engine, error) {
	var names []string
	for _, e := range Engines() {
		if e.Name == name {
			return e, nil
		}
		names = append(names, e.Name)
	}
	return Engine{}, fmt.Errorf("there is no SQL for the engine %q: use one of %s", name, strings.Join(names, ", "))
}

// LakeNames are the catalog and the namespaces of a lake in an engine.
type LakeNames struct {
	// Catalog is the catalog in the engine. Empty means the current catalog.
	Catalog string
	// Prefix begins the namespaces: <prefix>_current, _past, _meta, and _mart for the views.
	Prefix string
}

// Mart is the suffix of the namespace of the views.
const Mart = "mart"

// Namespace returns the name of a namespace of the lake in the engine. suffix follows the prefix and an
// underscore.
func (e Engine) Namespace(n LakeNames, suffix string) string {
	name := e.identifier(n.Prefix + "_" + suffix)
	if n.Catalog != "" {
		name = e.identifier(n.Catalog) + "." + name
	}
	return name
}

var plainNamePattern = regexp.MustCompile(`^[a-z_][a-z0-9_]*$`)

// identifier quotes a name if necessary.
func (e Engine) identifier(name string) string {
	if plainNamePattern.MatchString(name) {
		return name
	}
	return e.quote + strings.ReplaceAll(name, e.quote, e.quote+e.quote) + e.quote
}

func (e Engine) literal(text string) string { return "'" + e.escaper.Replace(text) + "'" }

// View is a view of the schema mart. Its columns have the types of DuckDB.
type View struct {
	schema.MartView
	// Select is the query of the view in the dialect of the engine, with the namespaces of the lake.
	Select string
}

// Views returns the views of the schema mart in the order of their dependencies.
func (e Engine) Views(n LakeNames) []View {
	var views []View
	for _, v := range schema.MartViews() {
		views = append(views, View{v, e.render(v.Name, n)})
	}
	return views
}

// render returns the query of a view in the dialect of the engine, with the namespaces of a lake. It panics
// if the file of the view is not a valid template.
func (e Engine) render(view string, n LakeNames) string {
	var pairs []string
	for _, suffix := range []string{"current", "past", "meta", Mart} { // the placeholders in the files
		pairs = append(pairs, "${"+suffix+"}", e.Namespace(n, suffix))
	}
	file := path.Join("engines", Mart, view+".sql")
	parsed := template.Must(template.New(path.Base(file)).Funcs(e.functions()).ParseFS(queries.Engines, file))
	var text strings.Builder
	if err := parsed.Execute(&text, nil); err != nil {
		panic(err)
	}
	return strings.NewReplacer(pairs...).Replace(text.String())
}

// ViewStatements returns the SQL that creates the namespace of the views, and creates or replaces the
// views with their comments.
func (e Engine) ViewStatements(n LakeNames) []string {
	statements := []string{"CREATE SCHEMA IF NOT EXISTS " + e.Namespace(n, Mart)}
	for _, v := range e.Views(n) {
		statements = append(statements, e.createView(v, n)...)
	}
	return statements
}

func (e Engine) createView(v View, n LakeNames) []string {
	name := e.Namespace(n, Mart) + "." + e.identifier(v.Name)
	var columns, comments []string
	for _, c := range v.Columns {
		columns = append(columns, fmt.Sprintf("    %s COMMENT %s", e.identifier(c.Name), e.literal(c.Comment)))
		comments = append(comments, fmt.Sprintf("COMMENT ON COLUMN %s.%s IS %s", name, e.identifier(c.Name), e.literal(c.Comment)))
	}
	create := "CREATE OR REPLACE VIEW " + name
	if e.inlineComments {
		create += " (\n" + strings.Join(columns, ",\n") + "\n)"
		comments = nil
	}
	create += "\nCOMMENT " + e.literal(v.About) + " AS\n" + strings.TrimSuffix(v.Select, "\n")
	return append([]string{create}, comments...)
}

// words are the parts of SQL that differ between Spark and Trino, by their names in the files of
// queries/engines/mart. %[1]s is the first argument.
var words = map[string]map[string]string{
	// Types.
	"text":    {Spark: "STRING", Trino: "VARCHAR"},
	"int":     {Spark: "INT", Trino: "INTEGER"},
	"instant": {Spark: "TIMESTAMP", Trino: "TIMESTAMP(6) WITH TIME ZONE"},

	// Numbers and lists.
	"div":     {Spark: "div", Trino: "/"},
	"tuple":   {Spark: "struct", Trino: "ROW"},
	"list":    {Spark: "array(%[1]s)", Trino: "ARRAY[%[1]s]"},
	"size":    {Spark: "size(%[1]s)", Trino: "cardinality(%[1]s)"},
	"collect": {Spark: "collect_list", Trino: "array_agg"},
	"sorted":  {Spark: "sort_array(collect_list(%[1]s))", Trino: "array_sort(array_agg(%[1]s) FILTER (WHERE %[1]s IS NOT NULL))"},
	// quantile is discrete. Its arguments are a sorted list, the share and the length of the list.
	"quantile": {Spark: "get(%[1]s, CAST(ceil(%[2]s * %[3]s) AS INT) - 1)", Trino: "element_at(%[1]s, CAST(ceil(%[2]s * %[3]s) AS INTEGER))"},
}

// functions returns the words of an engine as functions of a template. The function "spark" reports
// whether the engine is Spark. Files use it for statements that differ in structure.
func (e Engine) functions() template.FuncMap {
	all := template.FuncMap{"spark": func() bool { return e.Name == Spark }}
	for name, forms := range words {
		form := forms[e.Name]
		all[name] = func(args ...any) string { return fmt.Sprintf(form, args...) }
	}
	return all
}

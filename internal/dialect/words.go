package dialect

import (
	"fmt"
	"text/template"
)

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

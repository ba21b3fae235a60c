package dialect

import (
	"fmt"
	"text/template"
)

// words are the parts of SQL that differ between Spark and Trino, by their names in the files of
// queries/engines. %[1]s is the first argument.
var words = map[string]map[string]string{
	// Types.
	"text":    {Spark: "STRING", Trino: "VARCHAR"},
	"int":     {Spark: "INT", Trino: "INTEGER"},
	"instant": {Spark: "TIMESTAMP", Trino: "TIMESTAMP(6) WITH TIME ZONE"},

	// The name of the parameter "by". Trino reserves this word.
	"by": {Spark: "by", Trino: `"by"`},

	// Numbers and lists.
	"div":          {Spark: "div", Trino: "/"},
	"tuple":        {Spark: "struct", Trino: "ROW"},
	"list":         {Spark: "array(%[1]s)", Trino: "ARRAY[%[1]s]"},
	"size":         {Spark: "size(%[1]s)", Trino: "cardinality(%[1]s)"},
	"has":          {Spark: "array_contains(%[1]s, %[2]s)", Trino: "contains(%[1]s, %[2]s)"},
	"collect":      {Spark: "collect_list", Trino: "array_agg"},
	"sorted":       {Spark: "sort_array(collect_list(%[1]s))", Trino: "array_sort(array_agg(%[1]s) FILTER (WHERE %[1]s IS NOT NULL))"},
	"sorted_where": {Spark: "sort_array(collect_list(%[1]s) FILTER (WHERE %[2]s))", Trino: "array_sort(array_agg(%[1]s) FILTER (WHERE %[2]s AND %[1]s IS NOT NULL))"},
	// quantile is discrete. Its arguments are a sorted list, the share and the length of the list.
	"quantile": {Spark: "get(%[1]s, CAST(ceil(%[2]s * %[3]s) AS INT) - 1)", Trino: "element_at(%[1]s, CAST(ceil(%[2]s * %[3]s) AS INTEGER))"},

	// Times. In Spark, times are in the time zone of the session. In Trino, each value
	// contains its time zone. micros is the number of microseconds from 1970 to a time, and
	// from_micros is the reverse.
	"utc":         {Spark: "TIMESTAMP '%[1]s 00:00:00Z'", Trino: "TIMESTAMP '%[1]s 00:00:00 UTC'"},
	"micros":      {Spark: "unix_micros(%[1]s)", Trino: "CAST(round(to_unixtime(%[1]s) * 1e6) AS BIGINT)"},
	"from_micros": {Spark: "timestamp_micros(%[1]s)", Trino: "CAST(from_unixtime_nanos(CAST(%[1]s AS DECIMAL(38, 0)) * 1000) AS TIMESTAMP(6) WITH TIME ZONE)"},
	"month":       {Spark: "trunc(%[1]s, 'MONTH')", Trino: "date_trunc('month', %[1]s)"},
	"week":        {Spark: "trunc(%[1]s, 'WEEK')", Trino: "date_trunc('week', %[1]s)"},
	"days_after":  {Spark: "date_add(%[1]s, CAST(%[2]s AS INT))", Trino: "date_add('day', %[2]s, %[1]s)"},
	"local_date": {Spark: "CAST(convert_timezone(current_timezone(), %[2]s, CAST(%[1]s AS TIMESTAMP_NTZ)) AS DATE)",
		Trino: "CAST(at_timezone(%[1]s, %[2]s) AS DATE)"},
	// midnight is the start of a date in a time zone. midnight_after first adds a number of
	// days to the date.
	"midnight": {Spark: "CAST(convert_timezone(%[2]s, current_timezone(), CAST(%[1]s AS TIMESTAMP_NTZ)) AS TIMESTAMP)",
		Trino: "with_timezone(CAST(%[1]s AS TIMESTAMP(6)), %[2]s)"},
	"midnight_after": {Spark: "CAST(convert_timezone(%[3]s, current_timezone(), CAST(date_add(%[1]s, %[2]s) AS TIMESTAMP_NTZ)) AS TIMESTAMP)",
		Trino: "with_timezone(CAST(date_add('day', %[2]s, %[1]s) AS TIMESTAMP(6)), %[3]s)"},
	// days_ago is the date in UTC that is a number of days before the snapshot.
	"days_ago": {Spark: "CAST((SELECT convert_timezone(current_timezone(), 'UTC', CAST(snapshot_at AS TIMESTAMP_NTZ)) - INTERVAL %[1]s DAYS FROM ${mart}.snapshot) AS DATE)",
		Trino: "CAST((SELECT at_timezone(snapshot_at, 'UTC') - INTERVAL '%[1]s' DAY FROM ${mart}.snapshot) AS DATE)"},
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

package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"placementsync/internal/query"
)

// listed is a query in a list; in full it has all fields.
type listed struct {
	Name  string `json:"name"`
	Title string `json:"title"`
	Row   string `json:"row,omitempty"`
	About string `json:"about,omitempty"`
	// Parameters is the JSON Schema of what run_query takes as parameters.
	Parameters map[string]any `json:"parameters,omitempty"`
}

func (s *server) listQueries(_ context.Context, arguments json.RawMessage) (any, error) {
	asked, err := readArguments[struct {
		Name string `json:"name"`
	}](arguments)
	if err != nil {
		return nil, err
	}
	all, err := s.cfg.Queries()
	if err != nil {
		return nil, err
	}
	part := strings.ToLower(strings.TrimSpace(asked.Name))
	var list struct {
		Queries []listed `json:"queries"`
	}
	for _, q := range all {
		one := listed{Name: q.Name, Title: q.Title}
		if part != "" {
			if !strings.Contains(strings.ToLower(q.Name), part) {
				continue
			}
			one.Row, one.About, one.Parameters = q.Grain, q.About, parameterSchema(q.Params)
		}
		list.Queries = append(list.Queries, one)
	}
	if len(list.Queries) == 0 {
		_, err := query.FindNamed(all, part)
		return nil, err
	}
	return list, nil
}

// parameterSchema is the JSON Schema of the parameters of a query.
func parameterSchema(params []query.Param) map[string]any {
	properties := map[string]any{}
	for _, p := range params {
		one := property(jsonType(p.Type), p.About)
		nullable := p.Nullable || p.Default == "NULL"
		if choices := strings.Split(p.Type, "|"); len(choices) > 1 {
			enum := []any{}
			for _, c := range choices {
				enum = append(enum, c)
			}
			if nullable {
				enum = append(enum, nil)
			}
			one["enum"] = enum
		}
		if nullable {
			one["type"] = []string{jsonType(p.Type), "null"}
		}
		switch form := formOf(p.Type); {
		case p.Type == "COUNT":
			one["minimum"] = 0
		case form != "":
			one["description"] = fmt.Sprintf("%s (%s)", p.About, form)
		}
		one["default"] = defaultValue(p)
		properties[p.Name] = one
	}
	return map[string]any{"type": "object", "properties": properties, "additionalProperties": false}
}

// jsonType is the type of JSON for a type of a parameter.
func jsonType(kind string) string {
	switch kind {
	case "BIGINT", "COUNT":
		return "integer"
	case "BOOLEAN":
		return "boolean"
	}
	return "string"
}

// formOf says how a text is written whose type JSON does not have.
func formOf(kind string) string {
	switch kind {
	case "DATE":
		return "a date such as 2026-11-01, or snapshot-7d for seven days before the snapshot"
	case "TIMESTAMPTZ":
		return "a time such as 2026-11-01T02:00:00Z"
	case "TIMEZONE":
		return "a time zone such as Europe/Berlin"
	case "DECIMAL":
		return "a number such as 12.50"
	}
	return ""
}

// defaultValue is the default as JSON has it.
func defaultValue(p query.Param) any {
	switch jsonType(p.Type) {
	case "integer":
		if p.Default != "NULL" {
			return json.Number(p.Default)
		}
	case "boolean":
		if p.Default != "NULL" {
			return p.Default == "true" || p.Default == "yes"
		}
	}
	if p.Default == "NULL" {
		return nil
	}
	return p.Default
}

package mcp_test

import (
	"context"
	"os"
	"testing"

	"placementsync/internal/query"
	"placementsync/internal/testing/harness"
)

// childArg is the argument with which the test program runs as the child process of a query.
const childArg = "work"

func TestMain(m *testing.M) {
	harness.Main(m, childArg, func() error { return query.Work(context.Background(), os.Stdin, os.Stdout) })
}

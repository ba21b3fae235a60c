package main

import (
	"testing"

	"go.uber.org/goleak"
)

// TestMain also shows that no command leaves a goroutine behind.
func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreTopFunction("database/sql.(*DB).connectionOpener"))
}

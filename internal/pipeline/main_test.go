package pipeline_test

import (
	"testing"

	"go.uber.org/goleak"
)

// TestMain also shows that no night leaves a goroutine behind, however it ends.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

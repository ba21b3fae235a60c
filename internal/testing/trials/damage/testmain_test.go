package damage_test

import (
	"testing"

	"placementsync/internal/testing/trials"
)

func TestMain(m *testing.M) {
	trials.Main(m, map[string]trials.Program{"reader": &reader{}})
}

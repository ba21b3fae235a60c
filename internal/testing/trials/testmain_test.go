package trials_test

import "testing"

func TestMain(m *testing.M) {
	runTests(m, map[string]program{"held": &heldJob{}, "reader": &readerConfig{}})
}

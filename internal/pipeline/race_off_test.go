//go:build !race

package pipeline_test

// raced says that the race detector is at work.
const raced = false

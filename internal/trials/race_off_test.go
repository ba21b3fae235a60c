//go:build !race

package trials_test

// raced says that the race detector is at work.
const raced = false

package daemon

import "time"

// Verified is what a look for damage found.
type Verified struct {
	At   time.Time
	Took time.Duration
	// Result is one word: whole is good.
	Result string
	// Damaged are the files that are damaged.
	Damaged []string
	// Error is why it could not be told.
	Error string
}

// Whole is the Result of a warehouse without damage.
const Whole = "whole"

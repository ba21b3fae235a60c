package daemon

import "time"

// Verified is the result of a verification.
type Verified struct {
	At   time.Time
	Took time.Duration
	// Result is one word: whole is good.
	Result string
	// Damaged are the files that are damaged.
	Damaged []string
	// Error is why the warehouse could not be checked.
	Error string
}

// Whole is the Result of a warehouse without damage.
const Whole = "whole"

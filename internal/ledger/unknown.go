package ledger

// UnknownRunError says that no run or version has the name that a user gave.
type UnknownRunError struct {
	// Problem says what does not exist, what was kept and what may have been meant.
	Problem string
}

func (e *UnknownRunError) Error() string { return e.Problem }

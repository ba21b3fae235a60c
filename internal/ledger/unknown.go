package ledger

// UnknownRunError means that a user named a run or version that does not exist.
type UnknownRunError struct {
	// Problem is the whole message: the unknown name, the effect and similar known names.
	Problem string
}

func (e *UnknownRunError) Error() string { return e.Problem }

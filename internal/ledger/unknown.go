package ledger

// UnknownRunError reports a name, given by a user, that no run or version has.
type UnknownRunError struct {
	// Problem is the whole message: the unknown name, the effect and similar known names.
	Problem string
}

func (e *UnknownRunError) Error() string { return e.Problem }

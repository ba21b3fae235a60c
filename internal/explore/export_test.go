package explore

// FillStatementQueue occupies all places of the queue of typed SQL until release is called.
func (e *Explorer) FillStatementQueue() (release func()) {
	for range cap(e.statements.places) {
		e.statements.places <- struct{}{}
	}
	return func() {
		for range cap(e.statements.places) {
			<-e.statements.places
		}
	}
}

// HoldStatements keeps new statements waiting until release is called. waiting returns their number.
func (e *Explorer) HoldStatements() (waiting func() int, release func()) {
	for range cap(e.statements.running) {
		e.statements.running <- struct{}{}
	}
	return func() int { return len(e.statements.places) }, func() {
		for range cap(e.statements.running) {
			<-e.statements.running
		}
	}
}

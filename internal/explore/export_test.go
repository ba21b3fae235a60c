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

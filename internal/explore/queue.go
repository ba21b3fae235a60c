package explore

import (
	"context"
	"fmt"
	"net/http"
)

const (
	// maxRunning is the maximum number of statements that run at a time, and maxWaiting of those that wait.
	maxRunning = 2
	maxWaiting = 8
)

// queue limits the statements that run and wait. Waiting statements run in the order of their arrival,
// because waiting senders of a channel are served in this order.
type queue struct {
	places  chan struct{} // an element for each running or waiting statement
	running chan struct{} // an element for each running statement
}

func newQueue() *queue {
	return &queue{places: make(chan struct{}, maxRunning+maxWaiting), running: make(chan struct{}, maxRunning)}
}

// enter waits until the statement may run. The caller calls leave when the statement has ended. If too many
// statements wait, enter fails at once.
func (q *queue) enter(ctx context.Context) (leave func(), err error) {
	select {
	case q.places <- struct{}{}:
	default:
		return nil, &statusError{http.StatusServiceUnavailable,
			fmt.Sprintf("the statement was not run: %d statements are running and %d are waiting", maxRunning, maxWaiting), "Try again in a moment."}
	}
	select {
	case q.running <- struct{}{}:
	case <-ctx.Done():
		<-q.places
		return nil, context.Cause(ctx)
	}
	return func() { <-q.running; <-q.places }, nil
}

package lake

import (
	"context"

	"golang.org/x/sync/errgroup"
)

// eachIndex calls do with the numbers below n, several at a time. After an error it starts no more
// calls.
func eachIndex(workers, n int, do func(i int) error) error {
	g, ctx := errgroup.WithContext(context.Background())
	g.SetLimit(workers)
	for i := range n {
		g.Go(func() error {
			if ctx.Err() != nil {
				return nil
			}
			return do(i)
		})
	}
	return g.Wait()
}

package lake

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"golang.org/x/sync/errgroup"
)

// eachOf calls do for each item, with a number of workers. After an error it starts no more
// calls.
func eachOf[T any](workers int, items []T, do func(T) error) error {
	g, ctx := errgroup.WithContext(context.Background())
	g.SetLimit(workers)
	for _, item := range items {
		g.Go(func() error {
			if ctx.Err() != nil {
				return nil
			}
			return do(item)
		})
	}
	return g.Wait()
}

func indexes[T any](items []T) []int {
	all := make([]int, len(items))
	for i := range all {
		all[i] = i
	}
	return all
}

// mapKeys returns the keys of a map, sorted.
func mapKeys[K cmp.Ordered, V any](m map[K]V) []K { return slices.Sorted(maps.Keys(m)) }

// Package limits tests nights with limits of time and deletions, and nights that are interrupted, resumed, refreshed
// or replayed. It contains only tests, which use the fixture in package trials.
package limits

// Package faults tests nights whose service fails, or sends wrong, private or changing records. It
// contains only tests, which use the fixture in package trials.
package faults

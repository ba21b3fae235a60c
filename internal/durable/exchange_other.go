//go:build !linux

package durable

func exchangeNames(a, b string) error { return exchangeWithRenames(a, b) }

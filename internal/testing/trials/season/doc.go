// Package season tests many nights of one warehouse with events of all kinds, and upgrades from earlier releases. It
// contains only tests, which use the fixture in package trials.
package season

// Package damage tests nights that are killed or run on failing disks, and repairs of damaged warehouses. It
// contains only tests, which use the fixture in package trials.
package damage

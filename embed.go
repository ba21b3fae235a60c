// Package placementsync holds the files of this folder that the program has with it.
//
// It must not know who reads them: it imports nothing of this project.
package placementsync

import _ "embed"

// ExampleConfig is config.example.yaml: every key with its default and what it means.
//
//go:embed config.example.yaml
var ExampleConfig []byte

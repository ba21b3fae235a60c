// Package placementsync embeds files of this folder in the program.
//
// The package must not know the readers of the files: it imports no other package of this project.
package placementsync

import _ "embed"

// ExampleConfig is config.example.yaml: every key with its default and meaning.
//
//go:embed config.example.yaml
var ExampleConfig []byte

// Package placementsync embeds the example configuration in the program. It imports no other package
// of this project, so that every package can import it.
package placementsync

import _ "embed"

// ExampleConfig is config.example.yaml: every key with its default and meaning.
//
//go:embed config.example.yaml
var ExampleConfig []byte

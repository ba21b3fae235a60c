package config

import (
	"fmt"

	"github.com/goccy/go-yaml"
)

// Redacted returns c as YAML, every key present and every secret that is set shown
// as <secret>. c must be valid: nothing else is looked for secrets, and a valid
// api.base_url holds none.
func (c Config) Redacted() ([]byte, error) {
	text, err := yaml.Marshal(c)
	if err != nil {
		return nil, fmt.Errorf("marshal configuration: %w", err)
	}
	return text, nil
}

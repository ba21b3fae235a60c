package config

import (
	"fmt"

	"github.com/goccy/go-yaml"
)

// Redacted returns c as YAML with all keys. Secrets that are set appear as <secret>.
// c must be valid: then api.base_url contains no credentials, which are not looked
// for.
func (c Config) Redacted() ([]byte, error) {
	text, err := yaml.Marshal(c)
	if err != nil {
		return nil, fmt.Errorf("marshal configuration: %w", err)
	}
	return text, nil
}

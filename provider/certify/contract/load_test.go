package contract

import (
	"fmt"

	"github.com/goccy/go-yaml"
)

// Load reads a description as tests write it.
func Load(text []byte) (*Description, error) {
	d := &Description{}
	if err := yaml.UnmarshalWithOptions(text, d, yaml.Strict()); err != nil {
		return nil, fmt.Errorf("read a description: %w", err)
	}
	if err := d.Complete(); err != nil {
		return nil, err
	}
	return d, nil
}

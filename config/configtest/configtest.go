// Package configtest loads configurations for tests of other packages.
package configtest

import (
	"os"
	"path/filepath"
	"testing"

	"portico/config"
)

// Load loads a valid configuration from text, or fails the test.
func Load(t testing.TB, text string) *config.Config {
	t.Helper()
	path := filepath.Join(t.TempDir(), "test.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := config.Load(path)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

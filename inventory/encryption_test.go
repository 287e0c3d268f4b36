package inventory

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"portico/inventory/encryption"
)

// Whoever has a copy of the database alone opens nothing of it.
func TestACopyWithoutTheKeyDoesNotOpen(t *testing.T) {
	s := openTest(t, testOptions(t))
	text, err := s.cipher.Encrypt(t.Context(), []byte("place"), []byte("text"))
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	database, err := os.ReadFile(s.options.DSN)
	if err != nil {
		t.Fatal(err)
	}
	o := s.options
	o.DSN = filepath.Join(t.TempDir(), "copy.db")
	if err := os.WriteFile(o.DSN, database, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := openTest(t, o).cipher.Decrypt(t.Context(), []byte("place"), text); !errors.Is(err, encryption.ErrDecrypt) {
		t.Errorf("it opens: %v", err)
	}
	if err := os.WriteFile(o.DSN+".key", []byte("no key"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(t.Context(), o); err == nil {
		t.Error("a file without a key is taken")
	}
}

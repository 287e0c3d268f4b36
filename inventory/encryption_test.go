package inventory

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"portico/inventory/encryption"
	"portico/test/harness"
)

// Whoever has a copy of the database alone opens nothing of it.
func TestACopyWithoutTheKeyDoesNotOpen(t *testing.T) {
	s := openTest(t, testOptions(t))
	text, err := s.database.Cipher.Encrypt(t.Context(), []byte("place"), []byte("text"))
	harness.OK(t, err)
	harness.OK(t, s.Close())
	database, err := os.ReadFile(s.options.DSN)
	harness.OK(t, err)
	o := s.options
	o.DSN = filepath.Join(t.TempDir(), "copy.db")
	harness.OK(t, os.WriteFile(o.DSN, database, 0o600))
	if _, err := openTest(t, o).database.Cipher.Decrypt(t.Context(), []byte("place"), text); !errors.Is(err, encryption.ErrDecrypt) {
		t.Errorf("it opens: %v", err)
	}
	harness.OK(t, os.WriteFile(o.DSN+".key", []byte("no key"), 0o600))
	if _, err := Open(t.Context(), o); err == nil {
		t.Error("a file without a key is taken")
	}
}

// keyInDatabase has a store encrypt by the key in its database, as one on
// PostgreSQL without keys of its own does.
func keyInDatabase(t *testing.T, s *Store) {
	t.Helper()
	var err error
	if s.database.Cipher, err = encryption.New(encryption.Options{Stored: s.Secrets.Stored}); err != nil {
		t.Fatal(err)
	}
}

// While one caller waits for the key in the database, another one that has no time
// does not wait for it too.
func TestTheKeyInTheDatabaseIsWaitedForAsLongAsOneHasTime(t *testing.T) {
	s := openTest(t, testOptions(t))
	keyInDatabase(t, s)
	release, queued := blocked(t, s)
	encrypt := func(ctx context.Context) chan error {
		done := make(chan error, 1)
		go func() {
			_, err := s.database.Cipher.Encrypt(ctx, []byte("place"), []byte("text"))
			done <- err
		}()
		return done
	}
	patient := encrypt(context.Background())
	queued(1)
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	select {
	case err := <-encrypt(ctx):
		if !errors.Is(err, ErrUnavailable) {
			t.Errorf("without a key: %v", err)
		}
	case <-time.After(30 * time.Second):
		t.Error("it waits although its time is over")
	}
	release()
	if err := <-patient; err != nil {
		t.Error(err)
	}
}

// What the key in a database has encrypted can be read by those that have a key
// beside the database, or keys of their own.
func TestAKeyInTheDatabaseStillDecrypts(t *testing.T) {
	s := openTest(t, testOptions(t))
	keyInDatabase(t, s)
	text, err := s.database.Cipher.Encrypt(t.Context(), []byte("place"), []byte("text"))
	harness.OK(t, err)
	for _, keys := range [][][32]byte{nil, {{1}}} {
		harness.OK(t, s.Close())
		o := s.options
		o.EncryptionKeys = keys
		s = openTest(t, o)
		if plain, err := s.database.Cipher.Decrypt(t.Context(), []byte("place"), text); err != nil || string(plain) != "text" {
			t.Errorf("%d keys: %q, %v", len(keys), plain, err)
		}
	}
}

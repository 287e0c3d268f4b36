package inventory

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"
)

// While one caller waits for a key of the database, another one that has no time
// does not wait for it too.
func TestTheKeyIsWaitedForAsLongAsOneHasTime(t *testing.T) {
	s := openTest(t, testOptions(t))
	s.encryption.keys = nil // as with PostgreSQL
	release, queued := blocked(t, s)
	patient := make(chan error, 1)
	go func() {
		_, err := s.encrypt(context.Background(), []byte("place"), []byte("text"))
		patient <- err
	}()
	queued(1)
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	hasty := make(chan error, 1)
	go func() {
		_, err := s.encrypt(ctx, []byte("place"), []byte("text"))
		hasty <- err
	}()
	select {
	case err := <-hasty:
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

// opens reports whether a store decrypts a text.
func opens(t *testing.T, s *Store, text []byte) bool {
	t.Helper()
	plain, err := s.decrypt(t.Context(), []byte("place"), text)
	if err != nil && !errors.Is(err, errDecrypt) {
		t.Fatal(err)
	}
	return err == nil && string(plain) == "text"
}

func encryptedBy(t *testing.T, s *Store) []byte {
	t.Helper()
	text, err := s.encrypt(t.Context(), []byte("place"), []byte("text"))
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// reopened is the store of the same database with other keys.
func reopened(t *testing.T, s *Store, keys ...[32]byte) *Store {
	t.Helper()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	o := s.options
	o.SealKeys = keys
	return openTest(t, o)
}

func TestKeysAreChangedUnderWay(t *testing.T) {
	one, two := [32]byte{1}, [32]byte{2}
	s := openTest(t, testOptions(t))
	byFile := encryptedBy(t, s)
	s = reopened(t, s, one)
	byOne := encryptedBy(t, s)
	if !opens(t, s, byFile) {
		t.Error("what the key beside the database has encrypted does not open once there are others")
	}
	s = reopened(t, s, one, two) // it does not encrypt yet
	if byBoth := encryptedBy(t, s); !opens(t, reopened(t, s, one), byBoth) {
		t.Error("the second key encrypts")
	}
	s = reopened(t, s, two, one)
	byTwo := encryptedBy(t, s)
	if !opens(t, s, byOne) || !opens(t, s, byTwo) {
		t.Error("not all keys open")
	}
	s = reopened(t, s, two)
	if opens(t, s, byOne) || !opens(t, s, byTwo) {
		t.Error("a key that was dropped opens, or the one that stayed does not")
	}
}

// A database of before has its key in itself. What that has encrypted opens, and it
// encrypts nothing any more.
func TestAKeyInTheDatabaseStillOpens(t *testing.T) {
	s := openTest(t, testOptions(t))
	keys := s.encryption.keys
	s.encryption.keys = nil
	before := encryptedBy(t, s)
	s.encryption.keys, s.encryption.stored = keys, nil
	if !opens(t, s, before) {
		t.Error("it does not open")
	}
	now := encryptedBy(t, s)
	s.encryption.keys = nil
	if opens(t, s, now) {
		t.Error("it still encrypts")
	}
}

// Whoever has a copy of the database alone opens nothing of it.
func TestACopyWithoutTheKeyDoesNotOpen(t *testing.T) {
	s := openTest(t, testOptions(t))
	text := encryptedBy(t, s)
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
	if opens(t, openTest(t, o), text) {
		t.Error("it opens")
	}
	if err := os.WriteFile(o.DSN+keySuffix, []byte("no key"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(t.Context(), o); err == nil {
		t.Error("a file without a key is taken")
	}
}

// Several may make the file at once: they all have the same key.
func TestTheKeyIsMadeOnce(t *testing.T) {
	database := filepath.Join(t.TempDir(), "portico.db")
	keys := make([][32]byte, 8)
	var all sync.WaitGroup
	for i := range keys {
		all.Go(func() {
			var err error
			if keys[i], _, err = keyFile(database, true); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	for _, key := range keys {
		if key != keys[0] || key == [32]byte{} {
			t.Errorf("%x and %x", key, keys[0])
		}
	}
	if left, err := filepath.Glob(database + "*"); len(left) != 1 {
		t.Errorf("%v, %v", left, err)
	}
	info, err := os.Stat(database + keySuffix)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v %v", info, err)
	}
}

package encryption

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"
)

// stored is a database's key.
type stored struct {
	mu      sync.Mutex
	created bool
}

func (s *stored) key(_ context.Context, create bool) (key [32]byte, found bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.created = s.created || create
	return [32]byte{99}, s.created, nil
}

// newCipher opens a database with further keys; its own key is in the database or in a
// file.
func newCipher(t *testing.T, file string, in *stored, keys ...[32]byte) *Cipher {
	t.Helper()
	c, err := New(Options{Keys: keys, Database: file, Stored: in.key})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// If one caller waits for the key in the database, a caller with less time does not
// wait for it too.
func TestTheKeyIsWaitedForAsLongAsOneHasTime(t *testing.T) {
	reads, release := make(chan struct{}, 2), make(chan struct{})
	c, err := New(Options{Stored: func(ctx context.Context, _ bool) (key [32]byte, found bool, err error) {
		reads <- struct{}{}
		select {
		case <-release:
			return key, true, nil
		case <-ctx.Done():
			return key, false, ctx.Err()
		}
	}})
	if err != nil {
		t.Fatal(err)
	}
	patient := make(chan error, 1)
	go func() {
		_, err := c.Encrypt(context.Background(), []byte("place"), []byte("text"))
		patient <- err
	}()
	<-reads
	hasty, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := c.Encrypt(hasty, []byte("place"), []byte("text")); !errors.Is(err, context.Canceled) {
		t.Errorf("without a key: %v", err)
	}
	close(release)
	if err := <-patient; err != nil {
		t.Error(err)
	}
}

// decrypts reports whether a cipher decrypts a text.
func decrypts(t *testing.T, c *Cipher, text []byte) bool {
	t.Helper()
	plain, err := c.Decrypt(t.Context(), []byte("place"), text)
	if err != nil && !errors.Is(err, ErrDecrypt) {
		t.Fatal(err)
	}
	if _, err := c.Decrypt(t.Context(), []byte("another"), text); !errors.Is(err, ErrDecrypt) {
		t.Errorf("in another place: %v", err)
	}
	return err == nil && string(plain) == "text"
}

func encryptedBy(t *testing.T, c *Cipher) []byte {
	t.Helper()
	text, err := c.Encrypt(t.Context(), []byte("place"), []byte("text"))
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func TestKeysAreChangedUnderWay(t *testing.T) {
	one, two := [32]byte{1}, [32]byte{2}
	file, in := filepath.Join(t.TempDir(), "portico.db"), &stored{}
	byFile := encryptedBy(t, newCipher(t, file, in))
	c := newCipher(t, file, in, one)
	byOne := encryptedBy(t, c)
	if !decrypts(t, c, byFile) {
		t.Error("what the key beside the database has encrypted is lost once there are others")
	}
	// The second key does not encrypt yet.
	if byBoth := encryptedBy(t, newCipher(t, file, in, one, two)); !decrypts(t, newCipher(t, file, in, one), byBoth) {
		t.Error("the second key encrypts")
	}
	c = newCipher(t, file, in, two, one)
	byTwo := encryptedBy(t, c)
	if !decrypts(t, c, byOne) || !decrypts(t, c, byTwo) {
		t.Error("not all keys decrypt")
	}
	c = newCipher(t, file, in, two)
	if decrypts(t, c, byOne) || !decrypts(t, c, byTwo) {
		t.Error("a key that was dropped decrypts, or the one that stayed does not")
	}
}

// An older database holds its own key. Its texts stay readable, but that key encrypts
// nothing new.
func TestAKeyInTheDatabaseStillDecrypts(t *testing.T) {
	file, in := filepath.Join(t.TempDir(), "portico.db"), &stored{}
	before := encryptedBy(t, newCipher(t, "", in))
	c := newCipher(t, file, in)
	if !decrypts(t, c, before) {
		t.Error("it does not decrypt")
	}
	if decrypts(t, newCipher(t, "", in), encryptedBy(t, c)) {
		t.Error("it still encrypts")
	}
}

// Several may make the file at once: they all have the same key.
func TestTheKeyIsCreatedOnce(t *testing.T) {
	database := filepath.Join(t.TempDir(), "portico.db")
	keys := make([][32]byte, 8)
	var all sync.WaitGroup
	for i := range keys {
		all.Go(func() {
			var err error
			if keys[i], _, err = loadKeyFile(database, true); err != nil {
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

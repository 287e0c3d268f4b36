// Package encryption encrypts texts of clients and providers by AES-256-GCM, so that readers
// of a table, or of its copies, cannot read them. Each text is bound to the place that it is
// stored in, as its additional data.
package encryption

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"errors"
	"fmt"
	"slices"
	"sync"
)

// Options are the sources of the keys. With neither Keys nor Database the key is in the
// database, so a copy of the database contains it. A key in the database always decrypts
// the texts that it encrypted, even if there are other keys now.
type Options struct {
	// Keys are the operator's keys. The first one encrypts, all of them decrypt.
	Keys [][32]byte
	// Database is the path of the database's file. The key is in a file next to it, which
	// New creates if there are no Keys. Empty: there is no such file.
	Database string
	// Stored returns the key in the database. If there is none and create is set, it
	// creates one.
	Stored func(ctx context.Context, create bool) (key [32]byte, found bool, err error)
}

// Cipher encrypts and decrypts.
type Cipher struct {
	keys   []cipher.AEAD // from outside the database
	stored func(ctx context.Context, create bool) (key [32]byte, found bool, err error)

	mu         sync.Mutex
	storedAEAD cipher.AEAD // from the database; nil: not read yet
}

// ErrDecrypt means that no key decrypts the text at its place.
var ErrDecrypt = errors.New("inventory: what was sealed does not open")

// New returns a Cipher. It reads only the keys outside the database.
func New(o Options) (*Cipher, error) {
	c, keys := &Cipher{stored: o.Stored}, o.Keys
	if o.Database != "" {
		key, exists, err := loadKeyFile(o.Database, len(keys) == 0)
		if err != nil {
			return nil, fmt.Errorf("read the key file of the database: %w", err)
		}
		if exists { // even with Keys: it may have encrypted texts before
			keys = append(slices.Clip(keys), key)
		}
	}
	for _, key := range keys {
		aead, err := newAEAD(key)
		if err != nil {
			return nil, err
		}
		c.keys = append(c.keys, aead)
	}
	return c, nil
}

func newAEAD(key [32]byte) (cipher.AEAD, error) {
	block, err := aes.NewCipher(key[:])
	if err != nil {
		return nil, err
	}
	return cipher.NewGCMWithRandomNonce(block)
}

// Ready reads the key that encrypts, so that Encrypt never reads the database.
func (c *Cipher) Ready(ctx context.Context) error {
	if len(c.keys) > 0 {
		return nil
	}
	_, err := c.storedCipher(ctx, true)
	return err
}

// Encrypt encrypts a text and binds it to a place.
func (c *Cipher) Encrypt(ctx context.Context, place, text []byte) ([]byte, error) {
	if len(c.keys) > 0 {
		return c.keys[0].Seal(nil, nil, text, place), nil
	}
	aead, err := c.storedCipher(ctx, true)
	if err != nil {
		return nil, err
	}
	return aead.Seal(nil, nil, text, place), nil
}

// Decrypt decrypts a text that is bound to a place, or returns ErrDecrypt.
func (c *Cipher) Decrypt(ctx context.Context, place, text []byte) ([]byte, error) {
	for _, aead := range c.keys {
		if plain, err := aead.Open(nil, nil, text, place); err == nil {
			return plain, nil
		}
	}
	aead, err := c.storedCipher(ctx, false)
	if err != nil {
		return nil, err
	}
	if aead == nil {
		return nil, ErrDecrypt
	}
	plain, err := aead.Open(nil, nil, text, place)
	if err != nil {
		return nil, ErrDecrypt
	}
	return plain, nil
}

// storedCipher returns the cipher of the key in the database, nil if there is none and
// create is not set. Concurrent first callers each read the key, and get the same one, so
// that none waits for another.
func (c *Cipher) storedCipher(ctx context.Context, create bool) (cipher.AEAD, error) {
	c.mu.Lock()
	known := c.storedAEAD
	c.mu.Unlock()
	if known != nil {
		return known, nil
	}
	key, found, err := c.stored(ctx, create)
	if err != nil || !found {
		return nil, err
	}
	aead, err := newAEAD(key)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.storedAEAD = aead
	return aead, nil
}

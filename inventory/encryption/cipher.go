// Package encryption hides texts of clients and providers from readers of a table, or
// of its copies, by AES-256-GCM. Each text is bound to the place that it was encrypted
// for.
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

// Options say where the keys are. With neither Keys nor Database the key is in the
// database, so a copy of the database contains it. A key in the database always
// decrypts what it encrypted.
type Options struct {
	// Keys are the operator's: the first encrypts, all of them decrypt.
	Keys [][32]byte
	// Database is the database's file. The key is in a file next to it, which New
	// creates if there are no Keys. Empty: no such file.
	Database string
	// Stored returns the key in the database. It makes one if create is set.
	Stored func(ctx context.Context, create bool) (key [32]byte, found bool, err error)
}

// Cipher encrypts and decrypts.
type Cipher struct {
	keys   []cipher.AEAD // from outside the database
	stored func(ctx context.Context, create bool) (key [32]byte, found bool, err error)

	mu    sync.Mutex
	known cipher.AEAD // from the database; nil: not known yet
}

// ErrDecrypt means that no key decrypts a text in its place.
var ErrDecrypt = errors.New("inventory: what was sealed does not open")

// New reads the keys outside the database.
func New(o Options) (*Cipher, error) {
	c, keys := &Cipher{stored: o.Stored}, o.Keys
	if o.Database != "" {
		key, exists, err := keyFile(o.Database, len(keys) == 0)
		if err != nil {
			return nil, fmt.Errorf("read the key file of the database: %w", err)
		}
		if exists { // also if Keys have replaced it since
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

// Ready loads the key, so that Encrypt never has to read the database.
func (c *Cipher) Ready(ctx context.Context) error {
	if len(c.keys) > 0 {
		return nil
	}
	_, err := c.inDatabase(ctx, true)
	return err
}

// Encrypt encrypts a text for a place.
func (c *Cipher) Encrypt(ctx context.Context, place, text []byte) ([]byte, error) {
	if len(c.keys) > 0 {
		return c.keys[0].Seal(nil, nil, text, place), nil
	}
	aead, err := c.inDatabase(ctx, true)
	if err != nil {
		return nil, err
	}
	return aead.Seal(nil, nil, text, place), nil
}

// Decrypt decrypts a text of a place, or returns ErrDecrypt.
func (c *Cipher) Decrypt(ctx context.Context, place, text []byte) ([]byte, error) {
	for _, aead := range c.keys {
		if plain, err := aead.Open(nil, nil, text, place); err == nil {
			return plain, nil
		}
	}
	aead, err := c.inDatabase(ctx, false)
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

// inDatabase returns the cipher of the key in the database; nil if there is none and
// create is not set. Concurrent first callers get the same key, and none waits beyond
// its ctx.
func (c *Cipher) inDatabase(ctx context.Context, create bool) (cipher.AEAD, error) {
	c.mu.Lock()
	known := c.known
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
	c.known = aead
	return aead, nil
}

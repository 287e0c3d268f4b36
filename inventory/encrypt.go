package inventory

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"database/sql"
	"encoding/binary"
	"errors"
	"sync"
)

// encryption keeps what clients and providers said from readers of a table, or of
// a copy of it: by AES-256-GCM. Each text is bound to the place that it was
// encrypted for. The first of the keys encrypts, all of them decrypt.
//
// The keys are those of Options.SealKeys. Without any, a file beside SQLite's
// database holds one. With PostgreSQL the key is then in the database, so that a
// copy of the database has it too. A key in the database always decrypts what it
// encrypted.
type encryption struct {
	keys []cipher.AEAD // from outside the database

	mu     sync.Mutex
	stored cipher.AEAD // from the database; nil: not known yet
}

var errDecrypt = errors.New("inventory: what was sealed does not open")

// storedKeyName is the secret that the key in the database is.
const storedKeyName = "request batches"

func (e *encryption) known() cipher.AEAD {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.stored
}

func (e *encryption) keep(aead cipher.AEAD) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.stored = aead
}

// loadKeys takes the keys that there are outside the database.
func (s *Store) loadKeys() error {
	keys := s.options.SealKeys
	if s.options.Driver != Postgres {
		key, exists, err := keyFile(s.options.DSN, len(keys) == 0)
		if err != nil {
			return err
		}
		if exists { // also where others have taken its place since
			keys = append(keys[:len(keys):len(keys)], key)
		}
	}
	for _, key := range keys {
		aead, err := newCipher(key)
		if err != nil {
			return err
		}
		s.encryption.keys = append(s.encryption.keys, aead)
	}
	return nil
}

func newCipher(key [32]byte) (cipher.AEAD, error) {
	block, err := aes.NewCipher(key[:])
	if err != nil {
		return nil, err
	}
	return cipher.NewGCMWithRandomNonce(block)
}

// currentCipher returns the cipher that encrypts. Where the key is in the database,
// the first caller makes it. Several may be the first: their key is the same, and
// none waits longer than its ctx lasts.
func (s *Store) currentCipher(ctx context.Context) (cipher.AEAD, error) {
	if len(s.encryption.keys) > 0 {
		return s.encryption.keys[0], nil
	}
	if aead := s.encryption.known(); aead != nil {
		return aead, nil
	}
	key, err := s.Secret(ctx, storedKeyName)
	if err != nil {
		return nil, err
	}
	return s.keepStored(key)
}

// storedCipher returns the cipher of the key in the database; nil where there is none.
func (s *Store) storedCipher(ctx context.Context) (cipher.AEAD, error) {
	if aead := s.encryption.known(); aead != nil {
		return aead, nil
	}
	var stored []byte
	err := s.read(ctx).One(selectSecret, "", storedKeyName)(&stored)
	if errors.Is(err, sql.ErrNoRows) || err == nil && len(stored) != 32 {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return s.keepStored([32]byte(stored))
}

func (s *Store) keepStored(key [32]byte) (cipher.AEAD, error) {
	aead, err := newCipher(key)
	if err == nil {
		s.encryption.keep(aead)
	}
	return aead, err
}

// encryptedPlace is where an encrypted text stands: in a job, and of that in a part; -1
// for its content.
func encryptedPlace(job [16]byte, part int) []byte {
	return binary.BigEndian.AppendUint64(job[:], uint64(int64(part)))
}

func (s *Store) encrypt(ctx context.Context, place, text []byte) ([]byte, error) {
	aead, err := s.currentCipher(ctx)
	if err != nil {
		return nil, err
	}
	return aead.Seal(nil, nil, text, place), nil
}

func (s *Store) decrypt(ctx context.Context, place, text []byte) ([]byte, error) {
	for _, aead := range s.encryption.keys {
		if plain, err := aead.Open(nil, nil, text, place); err == nil {
			return plain, nil
		}
	}
	aead, err := s.storedCipher(ctx)
	if err != nil {
		return nil, err
	}
	if aead == nil {
		return nil, errDecrypt
	}
	plain, err := aead.Open(nil, nil, text, place)
	if err != nil {
		return nil, errDecrypt
	}
	return plain, nil
}

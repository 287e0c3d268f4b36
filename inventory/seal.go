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

// seal keeps what clients and providers said from whoever reads a table, or a copy
// of it: under AES-256-GCM. Each text is bound to the place that it was sealed for.
// The first of the keys seals, all of them open.
//
// The keys are those of Options.SealKeys. Without any, a file beside SQLite's
// database holds one. Only for PostgreSQL is the key then in the database, and
// keeps from nobody what a copy of that holds. What was sealed by a key in the
// database opens in any case.
type seal struct {
	keys []cipher.AEAD // from outside the database

	mu     sync.Mutex
	stored cipher.AEAD // from the database; nil: not known yet
}

var errSeal = errors.New("inventory: what was sealed does not open")

// sealName is the secret that the key in the database is.
const sealName = "request batches"

func (s *seal) known() cipher.AEAD {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.stored
}

func (s *seal) keep(aead cipher.AEAD) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stored = aead
}

// prepareSeal takes the keys that there are outside the database.
func (s *Store) prepareSeal() error {
	keys := s.options.SealKeys
	if s.options.Driver != Postgres {
		key, exists, err := sealFile(s.options.DSN, len(keys) == 0)
		if err != nil {
			return err
		}
		if exists { // also where others have taken its place since
			keys = append(keys[:len(keys):len(keys)], key)
		}
	}
	for _, key := range keys {
		aead, err := newSeal(key)
		if err != nil {
			return err
		}
		s.seal.keys = append(s.seal.keys, aead)
	}
	return nil
}

func newSeal(key [32]byte) (cipher.AEAD, error) {
	block, err := aes.NewCipher(key[:])
	if err != nil {
		return nil, err
	}
	return cipher.NewGCMWithRandomNonce(block)
}

// sealing returns the cipher that seals. Where the key is in the database, whoever
// asks first makes it. Several may be the first: their key is the same, and none
// waits longer than its ctx lasts.
func (s *Store) sealing(ctx context.Context) (cipher.AEAD, error) {
	if len(s.seal.keys) > 0 {
		return s.seal.keys[0], nil
	}
	if aead := s.seal.known(); aead != nil {
		return aead, nil
	}
	key, err := s.Secret(ctx, sealName)
	if err != nil {
		return nil, err
	}
	return s.keepStored(key)
}

// storedSeal returns the cipher of the key in the database; nil where there is none.
func (s *Store) storedSeal(ctx context.Context) (cipher.AEAD, error) {
	if aead := s.seal.known(); aead != nil {
		return aead, nil
	}
	var stored []byte
	err := s.read(ctx).One(selectSecret, "", sealName)(&stored)
	if errors.Is(err, sql.ErrNoRows) || err == nil && len(stored) != 32 {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return s.keepStored([32]byte(stored))
}

func (s *Store) keepStored(key [32]byte) (cipher.AEAD, error) {
	aead, err := newSeal(key)
	if err == nil {
		s.seal.keep(aead)
	}
	return aead, err
}

// sealPlace is where a sealed text stands: in a job, and of that in a part; -1
// for its content.
func sealPlace(job [16]byte, part int) []byte {
	return binary.BigEndian.AppendUint64(job[:], uint64(int64(part)))
}

func (s *Store) sealed(ctx context.Context, place, text []byte) ([]byte, error) {
	aead, err := s.sealing(ctx)
	if err != nil {
		return nil, err
	}
	return aead.Seal(nil, nil, text, place), nil
}

func (s *Store) unsealed(ctx context.Context, place, text []byte) ([]byte, error) {
	for _, aead := range s.seal.keys {
		if plain, err := aead.Open(nil, nil, text, place); err == nil {
			return plain, nil
		}
	}
	aead, err := s.storedSeal(ctx)
	if err != nil {
		return nil, err
	}
	if aead == nil {
		return nil, errSeal
	}
	plain, err := aead.Open(nil, nil, text, place)
	if err != nil {
		return nil, errSeal
	}
	return plain, nil
}

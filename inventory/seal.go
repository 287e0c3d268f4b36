package inventory

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"encoding/binary"
	"errors"
	"sync"
)

// seal keeps what clients and providers said from whoever reads a table, or a
// copy of it: under AES-256-GCM, by a key that all who share the store have
// from it. Each text is bound to the place that it was sealed for.
type seal struct {
	mu   sync.Mutex
	aead cipher.AEAD
}

var errSeal = errors.New("inventory: what was sealed does not open")

// sealName is the secret that the key is.
const sealName = "request batches"

func (s *seal) known() cipher.AEAD {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.aead
}

func (s *seal) keep(aead cipher.AEAD) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.aead = aead
}

// sealing returns the cipher; whoever asks first makes its key. Several may be
// the first: their key is the same, and none waits longer than its ctx lasts.
func (s *Store) sealing(ctx context.Context) (cipher.AEAD, error) {
	if aead := s.seal.known(); aead != nil {
		return aead, nil
	}
	key, err := s.Secret(ctx, sealName)
	if err != nil {
		return nil, err
	}
	block, err := aes.NewCipher(key[:])
	if err != nil {
		return nil, err
	}
	aead, err := cipher.NewGCMWithRandomNonce(block)
	if err != nil {
		return nil, err
	}
	s.seal.keep(aead)
	return aead, nil
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
	aead, err := s.sealing(ctx)
	if err != nil {
		return nil, err
	}
	plain, err := aead.Open(nil, nil, text, place)
	if err != nil {
		return nil, errSeal
	}
	return plain, nil
}

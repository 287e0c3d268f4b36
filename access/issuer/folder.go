package issuer

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	jose "github.com/go-jose/go-jose/v4"
)

// storedKeys is the form of a file. Anyone who can write it can sign in as anybody.
type storedKeys struct {
	Issuer  string            `json:"issuer"`
	Fetched time.Time         `json:"fetched"`
	Keys    []jose.JSONWebKey `json:"keys"`
}

// keyFile returns the path of an issuer's stored keys.
func keyFile(folder, issuer string) string {
	sum := sha256.Sum256([]byte(issuer))
	return filepath.Join(folder, "issuer-"+hex.EncodeToString(sum[:8])+".json")
}

// save stores the keys. A crash leaves the old file or the new one.
func save(folder, issuer string, set *keySet) error {
	if folder == "" {
		return nil
	}
	k := storedKeys{Issuer: issuer, Fetched: set.fetched.UTC()}
	for _, key := range set.keys {
		k.Keys = append(k.Keys, key.jose)
	}
	text, err := json.Marshal(k)
	if err != nil {
		return err
	}
	next, err := os.CreateTemp(folder, "issuer-*.new") // 0600
	if err != nil {
		return fmt.Errorf("create a file for the keys of an issuer: %w", err)
	}
	_, err = next.Write(text)
	err = errors.Join(err, next.Close())
	if err == nil {
		err = os.Rename(next.Name(), keyFile(folder, issuer))
	}
	if err != nil {
		return errors.Join(err, os.Remove(next.Name()))
	}
	return nil
}

// load returns the stored keys, nil if there are none.
func load(folder, issuer string, now time.Time) (*keySet, error) {
	if folder == "" {
		return nil, nil //nolint:nilnil // nothing is kept
	}
	text, err := os.ReadFile(keyFile(folder, issuer))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil //nolint:nilnil // nothing is kept yet
	case err != nil:
		return nil, fmt.Errorf("read the stored keys of an issuer: %w", err)
	}
	var k struct {
		Issuer  string    `json:"issuer"`
		Fetched time.Time `json:"fetched"`
	}
	if err := json.Unmarshal(text, &k); err != nil || k.Issuer != issuer {
		return nil, fmt.Errorf("%s does not contain this issuer's keys", keyFile(folder, issuer))
	}
	if k.Fetched.After(now) { // the clock was set back
		k.Fetched = now
	}
	return parseKeys(text, k.Fetched)
}

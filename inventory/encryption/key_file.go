package encryption

import (
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

const keySuffix = ".key"

// loadKeyFile returns the key in the file next to a database. If there is no file and wanted
// is set, it creates one.
func loadKeyFile(database string, wanted bool) (key [32]byte, exists bool, err error) {
	path := database + keySuffix
	key, err = readKeyFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		if !wanted {
			return key, false, nil
		}
		if err = createKeyFile(path); err == nil {
			key, err = readKeyFile(path)
		}
	}
	if err != nil {
		return key, false, fmt.Errorf("inventory: the key beside the database: %w", err)
	}
	return key, true, nil
}

func readKeyFile(path string) (key [32]byte, err error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return key, err
	}
	raw, err := base64.StdEncoding.Strict().DecodeString(strings.TrimSpace(string(text)))
	if err != nil || len(raw) != len(key) {
		return key, fmt.Errorf("%s does not hold the base64 of %d bytes", path, len(key))
	}
	return [32]byte(raw), nil
}

// createKeyFile creates a file with a random key that only its owner may read. The file
// appears as a whole or not at all, and is on disk before anything is encrypted with its
// key. If another process has created the file meanwhile, that file stays.
func createKeyFile(path string) error {
	var key [32]byte
	rand.Read(key[:]) // never fails
	folder := filepath.Dir(path)
	file, err := os.CreateTemp(folder, filepath.Base(path)+".*") // of mode 0600
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(file.Name()) }() // the link stays
	_, err = file.WriteString(base64.StdEncoding.EncodeToString(key[:]) + "\n")
	if err := errors.Join(err, file.Sync(), file.Close()); err != nil {
		return err
	}
	if err := os.Link(file.Name(), path); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	at, err := os.Open(folder)
	if err != nil {
		return err
	}
	return errors.Join(at.Sync(), at.Close())
}

package storetest

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"portico/inventory"
)

// CreateDatabase copies an empty SQLite database of the current layout to path, unless
// a file is there. Opening an absent file would do the same, but making the layout
// takes longer than most tests.
func CreateDatabase(t testing.TB, path string) {
	t.Helper()
	content, err := layout()
	if err != nil {
		t.Fatal(err)
	}
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, err := file.Write(content); err != nil {
		t.Fatal(err)
	}
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
}

// layout is the file that the inventory makes when there is none.
var layout = sync.OnceValues(func() (content []byte, err error) {
	folder, err := os.MkdirTemp("", "portico-layout-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	path := filepath.Join(folder, "portico.db")
	store, err := inventory.Open(context.Background(), inventory.Options{DSN: path, SendWithin: time.Second, CallLimit: time.Second})
	if err != nil {
		return nil, err
	}
	if err := store.Close(); err != nil {
		return nil, err
	}
	return os.ReadFile(path)
})

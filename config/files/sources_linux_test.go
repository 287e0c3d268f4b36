package files

import (
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"
)

// That a file may not be read any more, and that it may again, shows as well: it
// is what was wrong, or what has been mended, and the file itself is the same.
func TestSourcesShowWhatMayBeRead(t *testing.T) {
	folder := t.TempDir()
	for _, way := range []string{folder, filepath.Dir(folder)} {
		if err := os.Chmod(way, 0o755); err != nil { //nolint:gosec // all may look for it
			t.Fatal(err)
		}
	}
	path := filepath.Join(folder, "portico.yaml")
	put(t, path, "server: {publicURL: \"http://127.0.0.1:8080\", region: westus}\nregions: [{name: westus}]\n")
	allow := func(mode os.FileMode) {
		t.Helper()
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
	}
	allow(0o644)
	var loaded *Reader
	var now Sources
	load := func() {
		loaded = FromDisk()
		loaded.Read(path)
	}
	unprivileged(t, load)
	if err := loaded.Err(); err != nil {
		t.Fatal(err)
	}
	allow(0)
	unprivileged(t, func() { now = loaded.Sources.Now() })
	if loaded.Sources.Same(now) {
		t.Error("that it may not be read does not show")
	}
	unprivileged(t, load)
	if loaded.Err() == nil {
		t.Fatal("it was read")
	}
	allow(0o644)
	unprivileged(t, func() { now = loaded.Sources.Now() })
	if loaded.Sources.Same(now) {
		t.Error("that it may be read again does not show")
	}
}

// unprivileged does something with the rights of no one in particular, if the tests
// run as root, who may read everything.
func unprivileged(t *testing.T, do func()) {
	t.Helper()
	if os.Geteuid() != 0 {
		do()
		return
	}
	const noUser = 65534
	done := make(chan error, 1)
	go func() {
		runtime.LockOSThread() // for good: the thread ends with the goroutine
		err := syscall.Setfsuid(noUser)
		if err == nil {
			do()
		}
		done <- err
	}()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
}

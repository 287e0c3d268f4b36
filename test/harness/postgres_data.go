package harness

import (
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"testing/fstest"
)

// newData is the data of a cluster as initdb makes it, 40 MB. It costs half a second of a
// processor, so that each process of tests makes it once, and keeps it in memory: nothing
// has to be removed in the end.
var newData struct {
	sync.Mutex
	files fstest.MapFS
}

// initialise makes the data of a new cluster.
func (p *Postgres) initialise(t testing.TB) {
	t.Helper()
	newData.Lock()
	defer newData.Unlock()
	if newData.files == nil {
		p.programs.run(t, p.folder, "initdb", "--pgdata", p.data(), "--username", "postgres", "--auth", "trust",
			"--locale", "C", "--encoding", "UTF8", "--no-sync")
		files, err := readFiles(p.data())
		OK(t, err)
		newData.files = files
		return
	}
	OK(t, os.CopyFS(p.data(), newData.files))
	OK(t, os.Chmod(p.data(), 0o700)) // the server insists
	OK(t, filepath.WalkDir(p.data(), func(path string, _ fs.DirEntry, err error) error {
		if err != nil || p.programs.user == nil {
			return err
		}
		return os.Chown(path, int(p.programs.user.Uid), int(p.programs.user.Gid))
	}))
}

func readFiles(folder string) (fstest.MapFS, error) {
	files := make(fstest.MapFS)
	root := os.DirFS(folder)
	return files, fs.WalkDir(root, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			files[path] = &fstest.MapFile{Mode: fs.ModeDir | 0o700}
			return nil
		}
		data, err := fs.ReadFile(root, path)
		files[path] = &fstest.MapFile{Data: data, Mode: 0o600}
		return err
	})
}

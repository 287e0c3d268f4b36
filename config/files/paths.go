package files

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// RelativeTo resolves a path that is written in file.
func RelativeTo(file, path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(filepath.Dir(file), path)
}

// realPath returns the same path for a file however it was reached.
func realPath(path string) string {
	if canonical, err := filepath.EvalSymlinks(path); err == nil {
		path = canonical
	}
	if abs, err := filepath.Abs(path); err == nil {
		path = abs
	}
	return path
}

func checkReadable(path string) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	_, err = file.Read(make([]byte, 1)) // a directory can be opened, but not read
	return err
}

// errorText returns an error without the path of the file, which faults name themselves.
func errorText(err error) string {
	if system, ok := errors.AsType[*fs.PathError](err); ok {
		err = system.Err
	}
	return err.Error()
}

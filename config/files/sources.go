package files

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

// Sources are the files that a configuration was made of, those with keys and
// certificates among them, as they were before they were read. Comparing them
// with [Sources.Now] shows whether a reload would read anything new.
type Sources struct {
	files    []source
	patterns []pattern
}

// source is a file, as it was before it was read; info is nil where it was
// missing.
type source struct {
	path   string
	info   os.FileInfo
	denied bool // it is there, and may not be read
}

// pattern is an include, and which files it named.
type pattern struct {
	file, text string
	paths      []string
}

// note records a file that is about to be read.
func (s *Sources) note(path string) {
	s.files = append(s.files, stat(path))
}

func (s *Sources) noteInclude(file, text string, paths []string) {
	s.patterns = append(s.patterns, pattern{file, text, paths})
}

// stat follows links: what counts is the file that would be read.
func stat(path string) source {
	info, err := os.Stat(path)
	if err != nil {
		info = nil
	}
	return source{path, info, err == nil && denied(path, info)}
}

// denied reports whether a file may not be read, which neither its length nor its time
// of writing tell. It does not try to open anything but a plain file, as opening may
// have effects.
func denied(path string, info os.FileInfo) bool {
	if !info.Mode().IsRegular() {
		return false
	}
	file, err := os.Open(path)
	if err != nil {
		return errors.Is(err, fs.ErrPermission)
	}
	_ = file.Close()
	return false
}

// Now returns the same sources as they are at present.
func (s Sources) Now() Sources {
	now := Sources{}
	for _, f := range s.files {
		now.note(f.path)
	}
	for _, p := range s.patterns {
		paths, err := matches(p.file, p.text)
		if err != nil {
			paths = nil
		}
		now.noteInclude(p.file, p.text, paths)
	}
	return now
}

// Same reports whether nothing has changed between two states of the same
// sources: each file is the same one, of the same length and time of writing, and
// as readable as before, and each include names the same files.
func (s Sources) Same(other Sources) bool {
	return slices.EqualFunc(s.files, other.files, source.same) && slices.EqualFunc(s.patterns, other.patterns, pattern.same)
}

func (s source) same(other source) bool {
	switch {
	case s.path != other.path || (s.info == nil) != (other.info == nil) || s.denied != other.denied:
		return false
	case s.info == nil:
		return true
	}
	return os.SameFile(s.info, other.info) && s.info.Size() == other.info.Size() && s.info.ModTime().Equal(other.info.ModTime())
}

func (p pattern) same(other pattern) bool {
	return p.file == other.file && p.text == other.text && slices.EqualFunc(p.paths, other.paths, func(a, b string) bool {
		return filepath.Clean(a) == filepath.Clean(b)
	})
}

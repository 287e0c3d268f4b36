package files

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

// Sources is the state of the files on which a configuration depends, including keys and
// certificates, before they were read. Comparing it with [Sources.Now] shows whether a reload would
// read anything new.
type Sources struct {
	files    []source
	patterns []pattern
}

// source is the state of a file. info is nil if the file was missing.
type source struct {
	path   string
	info   os.FileInfo
	denied bool // it exists, but may not be read
}

// pattern is an include and the files it matched.
type pattern struct {
	file, text string
	paths      []string
}

// record records a file that is about to be read.
func (s *Sources) record(path string) {
	s.files = append(s.files, statSource(path))
}

func (s *Sources) recordInclude(file, text string, paths []string) {
	s.patterns = append(s.patterns, pattern{file, text, paths})
}

// statSource follows symbolic links, because reading does too.
func statSource(path string) source {
	info, err := os.Stat(path)
	if err != nil {
		info = nil
	}
	return source{path, info, err == nil && isDenied(path, info)}
}

// isDenied reports whether a file may not be read, which its size and modification time do not
// show. It opens only regular files, because opening others may have effects.
func isDenied(path string, info os.FileInfo) bool {
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

// Now returns the present state of the same sources.
func (s Sources) Now() Sources {
	now := Sources{}
	for _, f := range s.files {
		now.record(f.path)
	}
	for _, p := range s.patterns {
		paths, err := matchFiles(p.file, p.text)
		if err != nil {
			paths = nil
		}
		now.recordInclude(p.file, p.text, paths)
	}
	return now
}

// Same reports whether two states of the same sources are equal: each file is the same, with equal
// size, modification time and readability, and each include matches the same files.
func (s Sources) Same(other Sources) bool {
	return slices.EqualFunc(s.files, other.files, source.equal) && slices.EqualFunc(s.patterns, other.patterns, pattern.equal)
}

func (s source) equal(other source) bool {
	switch {
	case s.path != other.path || (s.info == nil) != (other.info == nil) || s.denied != other.denied:
		return false
	case s.info == nil:
		return true
	}
	return os.SameFile(s.info, other.info) && s.info.Size() == other.info.Size() && s.info.ModTime().Equal(other.info.ModTime())
}

func (p pattern) equal(other pattern) bool {
	return p.file == other.file && p.text == other.text && slices.EqualFunc(p.paths, other.paths, func(a, b string) bool {
		return filepath.Clean(a) == filepath.Clean(b)
	})
}

// Package files reads a configuration's files: one, and what it includes, as
// one tree, and which files that was. Of the keys it knows those that name files of
// certificates and keys.
package files

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"portico/config/yamltree"
)

const readableFile = "a readable YAML file"

// Reader gathers one configuration from its files. The zero value touches no
// file: an include is a fault, and whether named files can be read is not
// checked.
type Reader struct {
	yamltree.Report
	Sources    Sources
	Names      []string // all files read, the first one first
	Incomplete bool     // a file is missing or no YAML: the rest cannot be judged

	disk  bool
	first map[string]string // each file met, by its canonical path: where it was named
	chain []string          // the files being read, outermost first
}

// FromDisk returns a reader of files.
func FromDisk() *Reader { return &Reader{disk: true, first: make(map[string]string)} }

// Read reads a file and what it includes. It returns nil where that is no YAML
// or cannot be read.
func (r *Reader) Read(path string) *yamltree.Node {
	r.Sources.note(path)
	data, err := os.ReadFile(path)
	if err != nil {
		r.refuse(&yamltree.Node{File: path}, cause(err), readableFile)
		return nil
	}
	return r.read(path, realPath(path), data)
}

// NamedFile returns the path of a file that a setting names, and reports one that
// cannot be read.
func (r *Reader) NamedFile(at *yamltree.Node, setting, path string) string {
	path = RelativeTo(at.File, path)
	if !r.disk {
		return path
	}
	r.Sources.note(path)
	if err := readable(path); err != nil {
		r.Fault(at, fmt.Sprintf("%s: %s cannot be read: %s", setting, path, cause(err)),
			"a readable file; paths are relative to the file they stand in")
	}
	return path
}

// Reads reports whether files that settings name are read.
func (r *Reader) Reads() bool { return r.disk }

// Note records further files that the configuration was made of.
func (r *Reader) Note(paths ...string) {
	for _, path := range paths {
		r.Sources.note(path)
	}
}

// refuse reports what leaves the configuration incomplete.
func (r *Reader) refuse(at *yamltree.Node, what, allowed string) {
	r.Incomplete = true
	r.Fault(at, what, allowed)
}

// read parses one file and merges its includes into it.
func (r *Reader) read(path, canonical string, data []byte) *yamltree.Node {
	r.Names = append(r.Names, path)
	r.first[canonical] = path
	r.chain = append(r.chain, canonical)
	defer func() { r.chain = r.chain[:len(r.chain)-1] }()

	root := r.Parse(path, data)
	if root == nil {
		r.Incomplete = true
		return nil
	}
	include := root.Take("include")
	if include == nil || include.Kind == yamltree.Null {
		return root
	}
	if include.Kind != yamltree.List {
		r.refuse(include, "include is "+include.Kind.String()+", not a list", "a list of file patterns, such as [regions/*.yaml]")
		return root
	}
	for _, pattern := range include.Items {
		r.include(root, pattern)
	}
	return root
}

// include merges the files that a pattern names, sorted by name.
func (r *Reader) include(root, pattern *yamltree.Node) {
	if pattern.Kind != yamltree.Scalar || pattern.Text == "" {
		r.refuse(pattern, "an include is no file pattern", "a path or pattern, relative to this file, such as regions/*.yaml")
		return
	}
	paths, err := matches(pattern.File, pattern.Text)
	r.Sources.noteInclude(pattern.File, pattern.Text, paths)
	if err != nil {
		r.refuse(pattern, fmt.Sprintf("include %q is no file pattern", pattern.Text), "a path with *, ? and [a-z]")
		return
	}
	if len(paths) == 0 {
		r.refuse(pattern, fmt.Sprintf("include %q names no file", pattern.Text), "files that exist; paths are relative to the file that includes them")
		return
	}
	for _, path := range paths {
		if tree := r.included(path, pattern); tree != nil {
			r.Merge(root, tree)
		}
	}
}

func (r *Reader) included(path string, pattern *yamltree.Node) *yamltree.Node {
	canonical := realPath(path)
	for i, open := range r.chain {
		if open == canonical {
			r.Fault(pattern, fmt.Sprintf("include of %s leads back to it: %s", path, r.circle(i, canonical)), "each file once")
			return nil
		}
	}
	if first, met := r.first[canonical]; met {
		r.Fault(pattern, fmt.Sprintf("%s is included twice, first by %s", path, first), "each file once")
		return nil
	}
	r.Sources.note(path)
	data, err := os.ReadFile(path)
	if err != nil {
		r.refuse(pattern, fmt.Sprintf("%s cannot be read: %s", path, cause(err)), readableFile)
		return nil
	}
	tree := r.read(path, canonical, data)
	r.first[canonical] = pattern.Where()
	return tree
}

// circle shows the way from the i-th open file back to itself.
func (r *Reader) circle(i int, canonical string) string {
	var names []string
	for _, open := range append(r.chain[i:len(r.chain):len(r.chain)], canonical) {
		names = append(names, filepath.Base(open))
	}
	return strings.Join(names, " > ")
}

// matches returns the files that a pattern in file names, sorted. A path
// without wildcards is returned as it is, so that its absence shows with the
// system's own reason.
func matches(file, pattern string) ([]string, error) {
	if !strings.ContainsAny(pattern, `*?[\`) {
		return []string{RelativeTo(file, pattern)}, nil
	}
	if !filepath.IsAbs(pattern) {
		// The folder is not part of the pattern, whatever its name holds.
		folder := strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(filepath.Dir(file))
		pattern = filepath.Join(folder, pattern)
	}
	return filepath.Glob(pattern)
}

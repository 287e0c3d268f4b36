// Package files reads a configuration's main file and the files it includes into one tree, and
// records which files it has read. It knows only the keys that name certificate and key files.
package files

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"portico/config/yamltree"
)

const readableFile = "a readable YAML file"

// Reader reads one configuration. The zero value does not access files: an include is then a fault,
// and files that settings name are not checked.
type Reader struct {
	yamltree.Report
	Sources    Sources
	Names      []string // all files read, the main file first
	Incomplete bool     // a file is missing or not valid YAML, so the rest cannot be checked

	disk      bool
	namedBy   map[string]string // where each file was named, by its canonical path
	openFiles []string          // the files being read, outermost first
}

// FromDisk returns a Reader that accesses files.
func FromDisk() *Reader { return &Reader{disk: true, namedBy: make(map[string]string)} }

// Read reads a file and its includes. It returns nil if the file cannot be read or is not valid
// YAML.
func (r *Reader) Read(path string) *yamltree.Node {
	r.Sources.record(path)
	data, err := os.ReadFile(path)
	if err != nil {
		r.reportIncomplete(&yamltree.Node{File: path}, errorText(err), readableFile)
		return nil
	}
	return r.read(path, realPath(path), data)
}

// NamedFile returns the path of a file that a setting names. It reports a file that cannot be read.
func (r *Reader) NamedFile(at *yamltree.Node, setting, path string) string {
	path = RelativeTo(at.File, path)
	if !r.disk {
		return path
	}
	r.Sources.record(path)
	if err := checkReadable(path); err != nil {
		r.Fault(at, fmt.Sprintf("%s: %s cannot be read: %s", setting, path, errorText(err)),
			"a readable file; paths are relative to the file that names them")
	}
	return path
}

// Reads reports whether the Reader accesses files.
func (r *Reader) Reads() bool { return r.disk }

// RecordFiles records further files on which the configuration depends.
func (r *Reader) RecordFiles(paths ...string) {
	for _, path := range paths {
		r.Sources.record(path)
	}
}

// reportIncomplete reports a fault that leaves the configuration incomplete.
func (r *Reader) reportIncomplete(at *yamltree.Node, what, allowed string) {
	r.Incomplete = true
	r.Fault(at, what, allowed)
}

// read parses a file and merges its includes into it.
func (r *Reader) read(path, canonical string, data []byte) *yamltree.Node {
	r.Names = append(r.Names, path)
	r.namedBy[canonical] = path
	r.openFiles = append(r.openFiles, canonical)
	defer func() { r.openFiles = r.openFiles[:len(r.openFiles)-1] }()

	root := r.Parse(path, data)
	if root == nil {
		r.Incomplete = true
		return nil
	}
	include := root.Remove("include")
	if include == nil || include.Kind == yamltree.Null {
		return root
	}
	if include.Kind != yamltree.List {
		r.reportIncomplete(include, "include is "+include.Kind.String()+", not a list", "a list of file patterns, such as [regions/*.yaml]")
		return root
	}
	for _, pattern := range include.Items {
		r.include(root, pattern)
	}
	return root
}

// include merges the files that a pattern matches, sorted by name.
func (r *Reader) include(root, pattern *yamltree.Node) {
	if pattern.Kind != yamltree.Scalar || pattern.Text == "" {
		r.reportIncomplete(pattern, "an include is not a file pattern", "a path or pattern, relative to this file, such as regions/*.yaml")
		return
	}
	paths, err := matchFiles(pattern.File, pattern.Text)
	r.Sources.recordInclude(pattern.File, pattern.Text, paths)
	if err != nil {
		r.reportIncomplete(pattern, fmt.Sprintf("include %q is not a valid file pattern", pattern.Text), "a path with *, ? and [a-z]")
		return
	}
	if len(paths) == 0 {
		r.reportIncomplete(pattern, fmt.Sprintf("include %q matches no file", pattern.Text),
			"files that exist; paths are relative to the file that includes them")
		return
	}
	for _, path := range paths {
		if tree := r.readInclude(path, pattern); tree != nil {
			r.Merge(root, tree)
		}
	}
}

func (r *Reader) readInclude(path string, pattern *yamltree.Node) *yamltree.Node {
	canonical := realPath(path)
	for i, open := range r.openFiles {
		if open == canonical {
			r.Fault(pattern, fmt.Sprintf("include of %s is a cycle: %s", path, r.cyclePath(i, canonical)), "each file once")
			return nil
		}
	}
	if first, met := r.namedBy[canonical]; met {
		r.Fault(pattern, fmt.Sprintf("%s is included twice, first by %s", path, first), "each file once")
		return nil
	}
	r.Sources.record(path)
	data, err := os.ReadFile(path)
	if err != nil {
		r.reportIncomplete(pattern, fmt.Sprintf("%s cannot be read: %s", path, errorText(err)), readableFile)
		return nil
	}
	tree := r.read(path, canonical, data)
	r.namedBy[canonical] = pattern.Where()
	return tree
}

// cyclePath describes the includes that lead from the i-th open file back to itself.
func (r *Reader) cyclePath(i int, canonical string) string {
	var names []string
	for _, open := range append(r.openFiles[i:len(r.openFiles):len(r.openFiles)], canonical) {
		names = append(names, filepath.Base(open))
	}
	return strings.Join(names, " > ")
}

// matchFiles returns the files that a pattern in file matches, sorted. A path without wildcards is
// returned unchanged, so that if it is missing, the fault has the system's own reason.
func matchFiles(file, pattern string) ([]string, error) {
	if !strings.ContainsAny(pattern, `*?[\`) {
		return []string{RelativeTo(file, pattern)}, nil
	}
	if !filepath.IsAbs(pattern) {
		// The directory is not part of the pattern, even if its name contains such characters.
		folder := strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(filepath.Dir(file))
		pattern = filepath.Join(folder, pattern)
	}
	return filepath.Glob(pattern)
}

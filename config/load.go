package config

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Load reads a configuration file and what it includes. The error, if any, is
// a [Faults] with everything that is wrong.
func Load(path string) (*Config, error) {
	c, _, err := LoadSources(path)
	return c, err
}

// LoadSources is Load, and tells what was read on the way, also where something
// is wrong with it.
func LoadSources(path string) (*Config, Sources, error) {
	l := &loader{disk: true, first: make(map[string]string)}
	l.sources.note(path)
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, l.sources, Faults{fileFault(path, err)}
	}
	c, err := l.load(path, data)
	return c, l.sources, err
}

// Parse reads a configuration from data, under a name that stands in faults
// and whose folder relative paths begin at. It touches no file: an include is
// a fault, and whether TLS files can be read is not checked.
func Parse(name string, data []byte) (*Config, error) {
	l := &loader{first: make(map[string]string)}
	return l.load(name, data)
}

// loader gathers one configuration from its files.
type loader struct {
	report
	disk       bool
	incomplete bool              // a file is missing or is no YAML
	first      map[string]string // each file met, by its canonical path: where it was named
	chain      []string          // the files being read, outermost first
	files      []string          // all files read
}

func (l *loader) load(path string, data []byte) (*Config, error) {
	canonical := path
	if l.disk {
		canonical = realPath(path)
	}
	root := l.read(path, canonical, data)
	if l.incomplete {
		// The rest would be judged without what that file may hold.
		return nil, l.err()
	}
	c := read(&l.report, root, l.disk)
	if err := l.err(); err != nil {
		return nil, err
	}
	c.Warnings = sorted(l.warnings)
	c.Files, c.Sources = l.files, l.sources
	return c, nil
}

// read parses one file and merges its includes into it.
func (l *loader) read(path, canonical string, data []byte) *node {
	l.files = append(l.files, path)
	l.first[canonical] = path
	l.chain = append(l.chain, canonical)
	defer func() { l.chain = l.chain[:len(l.chain)-1] }()

	root := l.parseYAML(path, data)
	if root == nil {
		l.incomplete = true
		return nil
	}
	include := root.take("include")
	if include == nil || include.kind == null {
		return root
	}
	if include.kind != list {
		l.incomplete = true
		l.fault(include, "include is "+include.kind.String()+", not a list", "a list of file patterns, such as [regions/*.yaml]")
		return root
	}
	for _, pattern := range include.items {
		l.include(root, pattern)
	}
	return root
}

// include merges the files that a pattern names, sorted by name.
func (l *loader) include(root, pattern *node) {
	if pattern.kind != scalar || pattern.text == "" {
		l.incomplete = true
		l.fault(pattern, "an include is no file pattern", "a path or pattern, relative to this file, such as regions/*.yaml")
		return
	}
	if !l.disk {
		l.incomplete = true
		l.fault(pattern, "include in a configuration that is not read from a file", "everything in one text")
		return
	}
	paths, err := matches(pattern.file, pattern.text)
	l.sources.noteInclude(pattern.file, pattern.text, paths)
	if err != nil {
		l.incomplete = true
		l.fault(pattern, fmt.Sprintf("include %q is no file pattern", pattern.text), "a path with *, ? and [a-z]")
		return
	}
	if len(paths) == 0 {
		l.incomplete = true
		l.fault(pattern, fmt.Sprintf("include %q names no file", pattern.text), "files that exist; paths are relative to the file that includes them")
		return
	}
	for _, path := range paths {
		if tree := l.included(path, pattern); tree != nil {
			l.merge(root, tree, "")
		}
	}
}

func (l *loader) included(path string, pattern *node) *node {
	canonical := realPath(path)
	for i, open := range l.chain {
		if open == canonical {
			l.fault(pattern, fmt.Sprintf("include of %s leads back to it: %s", path, l.circle(i, canonical)), "each file once")
			return nil
		}
	}
	if first, met := l.first[canonical]; met {
		l.fault(pattern, fmt.Sprintf("%s is included twice, first by %s", path, first), "each file once")
		return nil
	}
	l.sources.note(path)
	data, err := os.ReadFile(path)
	if err != nil {
		l.incomplete = true
		f := fileFault(path, err)
		l.fault(pattern, fmt.Sprintf("%s cannot be read: %s", path, f.What), f.Allowed)
		return nil
	}
	tree := l.read(path, canonical, data)
	l.first[canonical] = pattern.where()
	return tree
}

// circle shows the way from the i-th open file back to itself.
func (l *loader) circle(i int, canonical string) string {
	var names []string
	for _, open := range append(l.chain[i:len(l.chain):len(l.chain)], canonical) {
		names = append(names, filepath.Base(open))
	}
	return strings.Join(names, " > ")
}

// matches returns the files that a pattern in file names, sorted. A path
// without wildcards is returned as it is, so that its absence shows with the
// system's own reason.
func matches(file, pattern string) ([]string, error) {
	if !strings.ContainsAny(pattern, `*?[\`) {
		return []string{relativeTo(file, pattern)}, nil
	}
	if !filepath.IsAbs(pattern) {
		// The folder is not part of the pattern, whatever its name holds.
		folder := strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(filepath.Dir(file))
		pattern = filepath.Join(folder, pattern)
	}
	return filepath.Glob(pattern)
}

// relativeTo resolves a path that stands in file.
func relativeTo(file, path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(filepath.Dir(file), path)
}

// realPath gives a file one name, however it was reached.
func realPath(path string) string {
	if canonical, err := filepath.EvalSymlinks(path); err == nil {
		path = canonical
	}
	if abs, err := filepath.Abs(path); err == nil {
		path = abs
	}
	return path
}

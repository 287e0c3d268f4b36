package config

import (
	_ "embed"
	"fmt"
	"slices"
)

//go:embed specimen.yaml
var specimen []byte

// description is every setting that a configuration can have, told by the
// reading of one that has them all, with what each of them means.
type description struct {
	settings map[string]*setting
	meanings map[string]meaning
}

// describe reads the specimen and notes what is asked for. What would be
// incomplete, a key without a reading or without a meaning, is an error.
func describe() (*description, error) {
	l := &loader{first: make(map[string]string)}
	l.notes = &notes{settings: make(map[string]*setting)}
	if _, err := l.load("specimen.yaml", specimen); err != nil {
		return nil, err
	}
	l.notes.list("include", false) // taken from the tree before it is read
	l.notes.at("include").noun = "file pattern"
	return explain(l.notes.settings, slices.Concat(meanings(), mapMeanings()))
}

// explain joins settings and meanings, of which each needs the other.
func explain(settings map[string]*setting, all []meaning) (*description, error) {
	d := &description{settings: settings, meanings: make(map[string]meaning)}
	for _, m := range all {
		if _, twice := d.meanings[m.path]; twice {
			return nil, fmt.Errorf("%s is explained twice", m.path)
		}
		if d.settings[m.path] == nil {
			return nil, fmt.Errorf("%s is explained, but nothing reads it", m.path)
		}
		d.meanings[m.path] = m
	}
	if err := d.complete(""); err != nil {
		return nil, err
	}
	return d, nil
}

// complete finds the first key below path that is not described.
func (d *description) complete(path string) error {
	for _, child := range d.below(path) {
		s, known := d.settings[child]
		switch {
		case !known || s.form == isScalar && s.noun == "":
			return fmt.Errorf("%s is a legal key, but the reading of the specimen does not come to it", child)
		case d.meanings[child].text == "":
			return fmt.Errorf("%s has no meaning: write a sentence about it", child)
		}
		if err := d.complete(child); err != nil {
			return err
		}
	}
	return nil
}

// below returns the paths of the keys under a path.
func (d *description) below(path string) []string {
	s := d.settings[path]
	if s == nil {
		return nil
	}
	paths := make([]string, len(s.keys))
	for i, key := range s.keys {
		paths[i] = join(path, key)
	}
	return paths
}

// preset is the default of a setting as it is told; written says whether it is
// also how a file would write it.
func (d *description) preset(path string) (text string, written bool) {
	if m := d.meanings[path]; m.preset != "" {
		return m.preset, false
	}
	s := d.settings[path]
	if s.needed || s.preset == "" {
		return "", false
	}
	return s.preset, true
}

// allowed is what may stand at a path, for people.
func (d *description) allowed(path string) string {
	if m := d.meanings[path]; m.allowed != "" {
		return m.allowed
	}
	return d.settings[path].allowed
}

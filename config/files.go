package config

import (
	"fmt"
	"os"
)

// fileReader reads keys that name files, relative to the file they stand in.
type fileReader struct {
	r    *report
	disk bool // look whether they can be read
}

// path reads the path under a key; empty where it is absent or wrong.
func (f fileReader) path(o object, key string) string {
	var path string
	n := set(o, key, &path, rule[string]{
		parse:   func(text string) (string, bool) { return text, text != "" },
		noun:    "path",
		allowed: "the path of a PEM file",
	})
	if n == nil {
		return ""
	}
	path = relativeTo(n.file, path)
	if !f.disk {
		return path
	}
	f.r.sources.note(path)
	if err := readable(path); err != nil {
		f.r.fault(n, fmt.Sprintf("%s: %s cannot be read: %s", join(o.path, key), path, fileFault(path, err).What),
			"a readable PEM file; paths are relative to the file they stand in")
	}
	return path
}

// keyPair reads cert and key, of which both or neither must be there.
func (f fileReader) keyPair(o object) (cert, key string) {
	cert, key = f.path(o, "cert"), f.path(o, "key")
	hasCert, hasKey := o.get("cert") != nil, o.get("key") != nil
	if hasCert != hasKey {
		present, missing := "cert", "key"
		if hasKey {
			present, missing = missing, present
		}
		f.r.fault(o.at(present), fmt.Sprintf("%s has %s but no %s", o.path, present, missing), "cert and key together")
	}
	return cert, key
}

func readable(path string) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	_, err = file.Read(make([]byte, 1)) // a folder opens, but cannot be read
	return err
}

package config

import "os"

// AdminAddress tells where the admin listener listens of a service that was
// started with the configuration of path, as far as that can be told by now: what
// else has become wrong with the configuration since does not stop the service.
// Where the file cannot be read, or is no YAML, the error says so, and the address
// is the default one.
func AdminAddress(path string) (string, error) {
	l := &loader{disk: true, first: make(map[string]string)}
	data, err := os.ReadFile(path)
	if err != nil {
		return Defaults().Server.Admin, Faults{fileFault(path, err)}
	}
	root := l.read(path, realPath(path), data)
	if root == nil {
		return Defaults().Server.Admin, l.err()
	}
	return read(&l.report, root, l.disk).Server.Admin, nil
}

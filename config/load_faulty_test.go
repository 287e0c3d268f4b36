package config

import (
	"os"
	"path/filepath"
	"testing"
)

// What has become of a configuration since the service began hides its admin
// listener only where nothing can be read.
func TestAdminAddress(t *testing.T) {
	const server = "server: {publicURL: \"http://127.0.0.1:8080\", region: westus, admin: \"127.0.0.1:9\"}\n"
	for name, c := range map[string]struct {
		text, want string
		reported   bool
	}{
		"right":                    {server + "regions: [{name: westus}]\n", "127.0.0.1:9", false},
		"a key of no meaning":      {server + "wibble: 1\n", "127.0.0.1:9", false},
		"an include that has gone": {server + "include: [none/*.yaml]\n", "127.0.0.1:9", false},
		"a region that is no more": {server + "regions: [{name: eastus}]\n", "127.0.0.1:9", false},
		"in an included file":      {"include: [server.yaml]\nwibble: 1\n", "127.0.0.1:7", false},
		"not given":                {"wibble: 1\n", "127.0.0.1:8081", false},
		"an address that is none":  {"server: {admin: here}\n", "127.0.0.1:8081", false},
		"half written":             {"server: {publicURL: \"http", "127.0.0.1:8081", true},
		"nothing at all":           {"", "127.0.0.1:8081", false},
	} {
		t.Run(name, func(t *testing.T) {
			folder := t.TempDir()
			put(t, filepath.Join(folder, "portico.yaml"), c.text)
			put(t, filepath.Join(folder, "server.yaml"), "server: {admin: \"127.0.0.1:7\"}\n")
			got, err := AdminAddress(filepath.Join(folder, "portico.yaml"))
			if got != c.want || (err != nil) != c.reported {
				t.Errorf("%s, %v; want %s, told %v", got, err, c.want, c.reported)
			}
		})
	}
	got, err := AdminAddress(filepath.Join(t.TempDir(), "gone.yaml"))
	if _, ok := err.(Faults); got != "127.0.0.1:8081" || !ok { //nolint:errorlint // the type itself
		t.Errorf("of a file that has gone: %s, %v", got, err)
	}
}

// Where a configuration is bad, the files that have to be mended are watched too.
func TestSourcesOfBadConfiguration(t *testing.T) {
	folder := t.TempDir()
	put(t, filepath.Join(folder, "portico.yaml"), "server: {publicURL: \"http://127.0.0.1:8080\", region: westus}\ninclude: [regions/*.yaml]\nupstream: {tls: {ca: ca.pem}}\n")
	put(t, filepath.Join(folder, "regions", "a.yaml"), "regions: [{name: westus}]\n")
	_, sources, err := LoadSources(filepath.Join(folder, "portico.yaml"))
	if err == nil {
		t.Fatal("a missing file is no fault")
	}
	put(t, filepath.Join(folder, "ca.pem"), "x")
	if sources.Same(sources.Now()) {
		t.Error("the missing file is there, and it does not show")
	}
}

func put(t *testing.T, path, text string) {
	t.Helper()
	must(t, os.MkdirAll(filepath.Dir(path), 0o700))
	must(t, os.WriteFile(path, []byte(text), 0o600))
}

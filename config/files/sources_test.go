package files

import (
	"os"
	"path/filepath"
	"testing"
)

const smallest = `
server: {publicURL: "http://127.0.0.1:8080", region: westus}
include: [regions/*.yaml]
`

// Whatever is done to a file that a configuration is made of shows.
func TestSourcesShowChanges(t *testing.T) {
	for name, change := range map[string]func(t *testing.T, folder string){
		"the file itself is written": func(t *testing.T, folder string) {
			put(t, filepath.Join(folder, "portico.yaml"), smallest+"metadata: {name: Other}\n")
		},
		"an included file is replaced by one of the same length": func(t *testing.T, folder string) {
			put(t, filepath.Join(folder, "new"), "regions: [{name: eastus}]\n")
			rename(t, filepath.Join(folder, "new"), filepath.Join(folder, "regions", "a.yaml"))
		},
		"a file is there that the pattern names": func(t *testing.T, folder string) {
			put(t, filepath.Join(folder, "regions", "b.yaml"), "regions: [{name: eastus}]\n")
		},
		"an included file is gone": func(t *testing.T, folder string) {
			if err := os.Remove(filepath.Join(folder, "regions", "a.yaml")); err != nil {
				t.Fatal(err)
			}
		},
		"a link on the way leads elsewhere": func(t *testing.T, folder string) {
			put(t, filepath.Join(folder, "data2", "a.yaml"), "regions: [{name: westus}]\n")
			if err := os.Symlink("data2", filepath.Join(folder, "next")); err != nil {
				t.Fatal(err)
			}
			rename(t, filepath.Join(folder, "next"), filepath.Join(folder, "regions"))
		},
	} {
		t.Run(name, func(t *testing.T) {
			folder := t.TempDir()
			put(t, filepath.Join(folder, "data1", "a.yaml"), "regions: [{name: westus}]\n")
			if err := os.Symlink("data1", filepath.Join(folder, "regions")); err != nil {
				t.Fatal(err)
			}
			put(t, filepath.Join(folder, "portico.yaml"), smallest)
			r := FromDisk()
			r.Read(filepath.Join(folder, "portico.yaml"))
			if err := r.Err(); err != nil {
				t.Fatal(err)
			}
			sources := r.Sources
			if !sources.Same(sources.Now()) {
				t.Fatal("sources differ from themselves")
			}
			change(t, folder)
			now := sources.Now()
			if sources.Same(now) {
				t.Error("it does not show")
			}
			if !now.Same(sources.Now()) {
				t.Error("it goes on showing")
			}
		})
	}
}

func put(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func rename(t *testing.T, from, to string) {
	t.Helper()
	if err := os.Rename(from, to); err != nil {
		t.Fatal(err)
	}
}

package main

import (
	"debug/buildinfo"
	"debug/elf"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/CycloneDX/cyclonedx-go"
)

// clone is the repository as it is committed, in a folder of its own.
func clone(t *testing.T) repository {
	t.Helper()
	_ = os.Getenv("PORTICO_INPUTS") // the go command keeps a result for as long as this says the same
	r := repository{folder: filepath.Join(t.TempDir(), "portico")}
	if _, err := (repository{folder: "../.."}).git(t.Context(), "clone", "--quiet", ".", r.folder); err != nil {
		t.Fatal(err)
	}
	return r
}

// A release holds a program that runs alone and says what it was built from, the modules
// in it, and checksums that agree.
func TestRelease(t *testing.T) {
	r := clone(t)
	at, err := r.commit(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	folder := filepath.Join(t.TempDir(), "release")
	if err := release(t.Context(), r.folder, folder, "linux/amd64", false); err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(folder, "portico-linux-amd64")
	file, err := elf.Open(program)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if needed, err := file.ImportedLibraries(); err != nil || len(needed) > 0 || file.Section(".interp") != nil {
		t.Errorf("it needs %v: %v", needed, err)
	}
	info, err := buildinfo.ReadFile(program)
	if err != nil {
		t.Fatal(err)
	}
	if content, err := os.ReadFile(program); err != nil || strings.Contains(string(content), r.folder) {
		t.Errorf("it names the folder that it was built in: %v", err)
	}
	var bom cyclonedx.BOM
	text, err := os.ReadFile(program + ".cdx.json")
	if err == nil {
		err = json.Unmarshal(text, &bom)
	}
	if err != nil {
		t.Fatal(err)
	}
	var listed []string
	for _, c := range *bom.Components {
		listed = append(listed, c.Name+"@"+c.Version)
	}
	for _, m := range info.Deps {
		if !slices.Contains(listed, m.Path+"@"+m.Version) {
			t.Errorf("the components lack %s", m.Path)
		}
	}
	if len(listed) != len(info.Deps)+1 || bom.Metadata.Component.Version != info.Main.Version || !strings.Contains(info.Main.Version, at.id[:12]) {
		t.Errorf("%d components of %d modules; version %q of %q, from %s", len(listed), len(info.Deps), bom.Metadata.Component.Version, info.Main.Version, at.id)
	}
	sums := exec.CommandContext(t.Context(), "sha256sum", "--check", "--strict", checksums)
	sums.Dir = folder
	if out, err := sums.CombinedOutput(); err != nil || strings.Count(string(out), ": OK") != 2 {
		t.Errorf("%v: %s", err, out)
	}
	if err := release(t.Context(), r.folder, folder, "linux/amd64", false); err == nil {
		t.Error("it went into a folder that exists")
	}
}

// What no one can look up is not released, nor what no one has asked for.
func TestRefusals(t *testing.T) {
	r := clone(t)
	if err := release(t.Context(), r.folder, filepath.Join(t.TempDir(), "release"), "plan9/mips", false); err == nil || !strings.Contains(err.Error(), "linux/amd64") {
		t.Error(err)
	}
	if err := os.WriteFile(filepath.Join(r.folder, "new.go"), []byte("package x\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := release(t.Context(), r.folder, filepath.Join(t.TempDir(), "release"), "", false); err == nil || !strings.Contains(err.Error(), "new.go") {
		t.Error(err)
	}
}

// A program says its version, which is that of the commit's tag, and what it was built from.
func TestProgramsSayTheirVersion(t *testing.T) {
	r := clone(t)
	at, err := r.commit(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(t.TempDir(), "portico")
	if err := r.build(t.Context(), platform{runtime.GOOS, runtime.GOARCH}, program, nil); err != nil {
		t.Fatal(err)
	}
	out, err := exec.CommandContext(t.Context(), program, "version").CombinedOutput()
	words := strings.Fields(string(out))
	if err != nil || len(words) != 4 || words[0] != "portico" || words[2] != at.id {
		t.Fatalf("%v: %s", err, out)
	}
	tags, err := r.git(t.Context(), "tag", "--points-at", "HEAD", "--list", "v*")
	if err != nil {
		t.Fatal(err)
	}
	for tag := range strings.FieldsSeq(tags) {
		if tag != "v"+words[1] {
			t.Errorf("the commit has the tag %s, and the program the version %s", tag, words[1])
		}
	}
}

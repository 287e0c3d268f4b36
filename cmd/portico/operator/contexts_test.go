package operator

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

func TestFileIsKept(t *testing.T) {
	path := filepath.Join(t.TempDir(), "new", "contexts.yaml")
	if f, err := loadContextFile(path); err != nil || len(f.Contexts) != 0 {
		t.Fatalf("without a file: %+v, %v", f, err)
	}
	var f contextFile
	for _, c := range []serviceContext{{Name: "prod", Admin: "https://a:1", TokenFile: "/t", CA: "/c"}, {Name: "demo", Admin: "http://b:2"}} {
		if err := f.Set(c); err != nil {
			t.Fatal(err)
		}
	}
	if f.Current != "prod" {
		t.Errorf("current is %q", f.Current)
	}
	if err := f.Save(path); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	if got, err := loadContextFile(path); err != nil || !reflect.DeepEqual(got, f) {
		t.Errorf("%+v, %v; want %+v", got, err, f)
	}
	err := f.Use("wrong")
	if unknown, ok := errors.AsType[*unknownContextError](err); !ok || strings.Join(unknown.Known, " ") != "prod demo" {
		t.Errorf("%v", err)
	}
	if err := f.Delete("prod"); err != nil || f.Current != "" || len(f.Contexts) != 1 {
		t.Errorf("%+v, %v", f, err)
	}
	if err := f.Set(serviceContext{Name: "a b"}); err == nil {
		t.Error("a name with a space is taken")
	}
}

// No one else may say where tokens are sent, and a token that somebody wrote into the file
// is not repeated in the error.
func TestFilesThatAreRefused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "contexts.yaml")
	write := func(text string, mode os.FileMode) {
		t.Helper()
		if err := errors.Join(os.WriteFile(path, []byte(text), 0o600), os.Chmod(path, mode)); err != nil {
			t.Fatal(err)
		}
	}
	write("contexts: []\n", 0o620)
	if _, err := loadContextFile(path); err == nil || !strings.Contains(err.Error(), "chmod 600") {
		t.Errorf("a file that others may change: %v", err)
	}
	write("contexts:\n- name: a\n  admin: http://a:1\n  token: geheim\n", 0o600)
	if _, err := loadContextFile(path); err == nil || !strings.Contains(err.Error(), path) || strings.Contains(err.Error(), "geheim") {
		t.Errorf("a file with a token: %v", err)
	}
}

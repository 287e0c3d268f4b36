package contoso

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// revive copies the state file as it is on disk, as a kill would leave it, and
// gives a site that starts from the copy.
func revive(t *testing.T, s *site, path string, spoil func([]byte) []byte) *site {
	t.Helper()
	b, err := os.ReadFile(path)
	must(t, err)
	to := filepath.Join(t.TempDir(), "copy")
	must(t, os.WriteFile(to, spoil(b), 0o600))
	again := newSiteWith(t, Options{Region: "westus", StateFile: to})
	again.advance(s.Now().Sub(again.Now()))
	return again
}

func asItIs(b []byte) []byte { return b }

func TestStateOutlivesAKill(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state")
	s := newSiteWith(t, Options{Region: "westus", StateFile: path})
	s.do(201, "PUT", vm+version, `{"location":"West US","tags":{"a":"<&>"},"properties":{"n":1.50}}`)
	s.do(201, "PUT", vm+"2"+version, westVM)
	s.do(200, "DELETE", vm+"2"+version, "")
	s.do(200, "PUT", otherSub+"?api-version=2.0", `{"state":"Suspended"}`)
	hidden := s.do(202, "PUT", vm+"3"+version, westVM, "x-contoso-async: accepted", inASecond)
	s.do(200, "PUT", vm+version, westVM, asyncState, failing, inASecond)
	s.advance(time.Second)
	// No one has looked since, so the operations end in the copy.
	again := revive(t, s, path, asItIs)
	poll := hidden.local(hidden.header.Get("Location"))
	if got, want := again.do(201, "GET", poll, "").body, s.do(201, "GET", poll, "").body; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got, want := again.get(vm+version).body, s.get(vm+version).body; got != want || !strings.Contains(got, `"a":"<&>"`) || !strings.Contains(got, `1.50`) {
		t.Errorf("got %s, want %s", got, want)
	}
	again.get(compute+"/virtualMachines"+version).wantIDs(vm, vm+"3")
	again.refused(409, "InvalidSubscriptionState", "PUT", strings.Replace(vm, sub, otherSub, 1)+version, westVM)
	third := revive(t, again, again.journal.path, asItIs)
	if got, want := third.get(vm+version).body, s.get(vm+version).body; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestTornEndIsForgotten(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state")
	s := newSiteWith(t, Options{Region: "westus", StateFile: path})
	s.do(201, "PUT", vm+version, westVM)
	for _, tail := range []string{`{"resources":{"/x":{"id":`, "{\x00\x00\n"} {
		again := revive(t, s, path, func(b []byte) []byte { return append(b, tail...) })
		again.get(compute + "/virtualMachines" + version).wantIDs(vm)
		again.do(201, "PUT", vm+"2"+version, westVM)
		third := revive(t, again, again.journal.path, asItIs)
		third.get(compute+"/virtualMachines"+version).wantIDs(vm, vm+"2")
	}
}

func TestStateFilesThatAreRefused(t *testing.T) {
	folder := t.TempDir()
	path := filepath.Join(folder, "state")
	s := newSiteWith(t, Options{Region: "westus", StateFile: path})
	s.do(201, "PUT", vm+version, westVM)
	if _, err := New(Options{Region: "westus", StateFile: path}); err == nil || !strings.Contains(err.Error(), "another provider") {
		t.Errorf("a state file in use: %v", err)
	}
	good, err := os.ReadFile(path)
	must(t, err)
	for name, content := range map[string]string{
		"other region":  strings.Replace(string(good), "westus", "eastus", 1),
		"something":     "hello\n",
		"damaged early": strings.Replace(string(good), "\n", "\n{]\n", 1),
	} {
		file := filepath.Join(folder, strings.ReplaceAll(name, " ", "-"))
		must(t, os.WriteFile(file, []byte(content), 0o600))
		if p, err := New(Options{Region: "westus", StateFile: file}); err == nil {
			t.Errorf("%s: accepted", name)
			p.Close()
		}
		if now, _ := os.ReadFile(file); string(now) != content {
			t.Errorf("%s: the refused file was changed", name)
		}
	}
}

func TestJournalIsRewrittenAsItGrows(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state")
	s := newSiteWith(t, Options{Region: "westus", StateFile: path})
	s.journal.rewriteAt = 10_000
	for range 50 {
		s.do(s.putStatus(), "PUT", vm+version, westVM)
	}
	info, err := os.Stat(path)
	must(t, err)
	if info.Size() != s.journal.size || info.Size() > 40_000 {
		t.Errorf("size %d, counted %d", info.Size(), s.journal.size)
	}
	revive(t, s, path, asItIs).get(vm + version)
}

func TestAWriteThatCannotBeKeptIsNotAcknowledged(t *testing.T) {
	s := newSiteWith(t, Options{Region: "westus", StateFile: filepath.Join(t.TempDir(), "state")})
	s.do(201, "PUT", vm+version, westVM)
	must(t, s.journal.file.Close())
	s.refused(500, "InternalServerError", "PUT", vm+"2"+version, westVM)
	s.get(compute + "/virtualMachines" + version).wantIDs(vm)
	s.journal.file = nil // so that the end of the test finds nothing to close
}

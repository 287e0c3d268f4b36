package logs

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"go.uber.org/zap"
	"pgregory.net/rapid"
)

func TestQuery(t *testing.T) {
	for raw, want := range map[string]string{
		"":                       "",
		"api-version=2024-01-01": "api-version=2024-01-01",
		"api-version=2024-01-01&sig=a%2Bb&%24top=5&$skiptoken=abc&s%69g=x": "api-version=2024-01-01&sig=REDACTED&%24top=5&$skiptoken=REDACTED&s%69g=REDACTED",
		"justasecret":                                                     "REDACTED",
		"%zz=secret":                                                      "%zz=REDACTED",
		"a=secret=b&&code=secret":                                         "a=REDACTED&REDACTED&code=REDACTED",
		"api-version=1;sig=secret":                                        "api-version=1;sig=REDACTED",
		"api-version=2024-01-01%26sig%3dsecret":                           "api-version=2024-01-01%26sig%3dREDACTED",
		"api-version=2015-05-01-privatepreview":                           "api-version=2015-05-01-privatepreview",
		"api-version=" + strings.Repeat("a", 31):                          "api-version=REDACTED",
		"$top=1&API-version=" + strings.Repeat("a", 31):                   "$top=1&API-version=REDACTED",
		"$filter=name eq '" + strings.Repeat("0123456789abcdef", 2) + "'": "$filter=name eq 'REDACTED'",
		"$filter=id eq '00000000-0000-0000-0000-00000000000a'":            "$filter=id eq '00000000-0000-0000-0000-00000000000a'",
		"$filter=name eq 'x' and token=secret":                            "$filter=name eq 'x' and token=REDACTED",
	} {
		if got := Query(raw); got != want {
			t.Errorf("%q: %q, want %q", raw, got, want)
		}
	}
	if got := Query(strings.Repeat("a=1&", 1000)); len(got) > 1000 {
		t.Errorf("%d bytes of a query", len(got))
	}
}

func TestText(t *testing.T) {
	for text, want := range map[string]string{
		"nothing to see":                           "nothing to see",
		"GET https://user:pw@host/p?sig=s3&x=1":    "GET https://REDACTED@host/p?sig=REDACTED&x=1",
		"https://a@b:pw@host and more":             "https://REDACTED@host and more",
		"mail me@example.com":                      "mail me@example.com",
		"Authorization: Bearer abc\r\nNext: x":     "Authorization:REDACTED\r\nNext: x",
		"sent bearer abc.def, twice":               "sent bearer REDACTED, twice",
		"Set-Cookie: a=b; c=d":                     "Set-Cookie:REDACTED",
		"password=hunter2 host=db":                 "password=REDACTED host=db",
		"access_token=abc&refresh%54oken=d":        "access_token=REDACTED&refresh%54oken=REDACTED",
		"depth=3 of tree=b":                        "depth=3 of tree=b",
		"bearer":                                   "bearer",
		"postgres://portico:pw@db/portico failed":  "postgres://REDACTED@db/portico failed",
		"/a/Bearer%20abc/b":                        "/a/Bearer%20REDACTED/b",
		"a%3Fsv%3D1%26sig%3Dabc":                   "a%3Fsv%3D1%26sig%3DREDACTED",
		"/x/eyJhbGciOiJub25lIn0.e30.abc/y":         "/x/REDACTED/y",
		"/x/a%2FeyJhbGciOiJub25lIn0.e30.abc/y":     "/x/a%2FREDACTED/y",
		"/x/eyJustin":                              "/x/eyJustin",
		"/x/theyJumpedOverTheLazyDogs0123456789":   "/x/theyJumpedOverTheLazyDogs0123456789",
		"/x/" + strings.Repeat("aB3", 20) + "==/y": "/x/REDACTED/y",
		"/x/" + strings.Repeat("aB3", 20) + "/y":   "/x/" + strings.Repeat("aB3", 20) + "/y", // a name may be so
	} {
		if got := Text(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

// Whatever is logged, each call makes one line of JSON.
func TestOneLineEach(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var out bytes.Buffer
		log, err := New("debug", &out, false)
		if err != nil {
			t.Fatal(err)
		}
		text := rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{"\u2028a", "b\u202e\u2069", "\x7f\u009b31m", "â€é"}), rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) string { return string(b) }))
		log.Info(text.Draw(t, "message"), zap.String("text", text.Draw(t, "text")), zap.Error(errors.New(text.Draw(t, "error"))), zap.Any("any", []string{text.Draw(t, "any")}))
		line := out.String()
		if strings.Count(line, "\n") != 1 || !strings.HasSuffix(line, "\n") || !json.Valid([]byte(line)) {
			t.Fatalf("%q", line)
		}
		for _, c := range strings.TrimSuffix(line, "\n") {
			if c < ' ' || isDeceptive(c) {
				t.Fatalf("%q holds a control character", line)
			}
		}
	})
}

// No field lets a secret through, in whatever form it is given.
func TestFieldsAreRedacted(t *testing.T) {
	var out bytes.Buffer
	log, err := New("info", &out, false)
	if err != nil {
		t.Fatal(err)
	}
	const leak = "https://u:hidden@h/?token=hidden"
	log.With(zap.String("a", leak)).Info(leak, zap.String("b", leak), zap.ByteString("c", []byte(leak)), zap.Error(errors.New(leak)), zap.Any("d", struct{ URL string }{leak}), zap.Int("e", 5))
	if line := out.String(); strings.Contains(line, "hidden") || strings.Count(line, Redacted) != 12 || !strings.Contains(line, `"e":5`) {
		t.Errorf("%s", line)
	}
}

// Audit lines are written whatever the level is, and to a file alone where one
// is named.
func TestAudit(t *testing.T) {
	var out bytes.Buffer
	log, err := New("error", &out, false)
	if err != nil {
		t.Fatal(err)
	}
	log.Info("unseen")
	Audit(log).Info("seen")
	if got := out.String(); strings.Contains(got, "unseen") || !strings.Contains(got, `"logger":"audit"`) {
		t.Errorf("%s", got)
	}
	path := filepath.Join(t.TempDir(), "audit.log")
	for range 2 {
		f, err := OpenFile(path, zap.NewNop())
		if err != nil {
			t.Fatal(err)
		}
		f.Logger().Info("kept")
		if err := f.Close(); err != nil || f.Failures() != 0 {
			t.Error(err)
		}
		f.Logger().Info("lost")
		if f.Failures() != 1 {
			t.Errorf("%d failures", f.Failures())
		}
	}
	text, err := os.ReadFile(path)
	if err != nil || strings.Count(string(text), `"msg":"kept"`) != 2 {
		t.Errorf("%v: %s", err, text)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v %v", info.Mode(), err)
	}
}

func TestClip(t *testing.T) {
	for _, c := range []struct {
		text string
		n    int
		want string
	}{{"abc", 3, "abc"}, {"abcd", 3, "abc…"}, {"aéé", 2, "a…"}, {"é", 1, "…"}} {
		if got := Clip(c.text, c.n); got != c.want {
			t.Errorf("%q at %d: %q", c.text, c.n, got)
		}
	}
}

// A file is opened anew while lines are written: each is in one of the two, whole.
func TestFileOpenedAnew(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.log")
	f, err := OpenFile(path, zap.NewNop())
	if err != nil {
		t.Fatal(err)
	}
	log := f.Logger()
	const writers, lines = 4, 200
	var group sync.WaitGroup
	for range writers {
		group.Go(func() {
			for range lines {
				log.Info("line")
			}
		})
	}
	for i := range 10 {
		if err := os.Rename(path, fmt.Sprintf("%s.%d", path, i)); err != nil {
			t.Fatal(err)
		}
		if err := f.Reopen(); err != nil {
			t.Fatal(err)
		}
	}
	group.Wait()
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	parts, err := filepath.Glob(path + "*")
	if err != nil {
		t.Fatal(err)
	}
	whole := 0
	for _, part := range parts {
		text, err := os.ReadFile(part)
		if err != nil {
			t.Fatal(err)
		}
		for line := range bytes.Lines(text) {
			if !json.Valid(line) {
				t.Errorf("%s: %q", part, line)
			}
			whole++
		}
	}
	if len(parts) != 11 || whole != writers*lines || f.Failures() != 0 {
		t.Errorf("%d lines in %d files, %d failures", whole, len(parts), f.Failures())
	}
}

// Where the path cannot be opened, lines go on to the file that is open.
func TestFileThatCannotBeOpenedAnew(t *testing.T) {
	folder := t.TempDir()
	path := filepath.Join(folder, "there", "audit.log")
	if err := os.Mkdir(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	f, err := OpenFile(path, zap.NewNop())
	if err != nil {
		t.Fatal(err)
	}
	moved := filepath.Join(folder, "moved")
	if err := os.Rename(filepath.Dir(path), moved); err != nil {
		t.Fatal(err)
	}
	if err := f.Reopen(); err == nil {
		t.Error("opened in a folder that is not there")
	}
	f.Logger().Info("line")
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(moved, "audit.log"))
	if err != nil || bytes.Count(text, []byte("\n")) != 1 {
		t.Errorf("%q, %v", text, err)
	}
}

// A disk that is full tears a line in two and loses others. The log tells of it
// once, in its own form; what is written afterwards is whole.
func TestFileThatTakesNoMore(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.log")
	var text bytes.Buffer
	log, err := New("info", &text, false)
	if err != nil {
		t.Fatal(err)
	}
	f, err := OpenFile(path, log)
	if err != nil {
		t.Fatal(err)
	}
	lines := f.Logger()
	lines.Info("first")
	little := &disk{f.file, 20}
	f.file = little
	for range 3 {
		lines.Info("lost")
	}
	little.room = 1 << 20
	lines.Info("second")
	lines.Info("third")
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	messages(t, path, "first", "", "second", "third")
	if f.Failures() != 3 {
		t.Errorf("%d failures", f.Failures())
	}
	for i, want := range []string{"audit lines cannot be written", "audit lines are written again"} {
		var line struct {
			Msg  string
			Lost int
		}
		got, err := text.ReadBytes('\n')
		if err != nil || json.Unmarshal(got, &line) != nil || line.Msg != want || line.Lost != 3*i {
			t.Errorf("%s, %v; want %s", got, err, want)
		}
	}
	if text.Len() > 0 {
		t.Errorf("the log says further: %s", text.String())
	}
}

// What a process that was killed has left is a line of its own.
func TestFileThatEndsInAPart(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.log")
	if err := os.WriteFile(path, []byte(`{"msg":"whole"}`+"\n"+`{"msg":"pa`), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := OpenFile(path, zap.NewNop())
	if err != nil {
		t.Fatal(err)
	}
	f.Logger().Info("next")
	if err := errors.Join(f.Reopen(), f.Close()); err != nil {
		t.Fatal(err)
	}
	messages(t, path, "whole", "", "next")
}

// disk is a file on a disk that has little room.
type disk struct {
	file
	room int
}

func (d *disk) Write(text []byte) (int, error) {
	n, err := d.file.Write(text[:min(d.room, len(text))])
	if d.room -= n; err == nil && n < len(text) {
		err = syscall.ENOSPC
	}
	return n, err
}

// messages holds the lines of a file to what they say, "" for one that is no JSON.
func messages(t *testing.T, path string, want ...string) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for line := range bytes.Lines(text) {
		var of struct{ Msg string }
		if json.Unmarshal(line, &of) != nil {
			of.Msg = ""
		}
		got = append(got, of.Msg)
	}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q: %s", got, want, text)
	}
}

// A byte that is not plain ASCII is seen wherever it stands in a line.
func TestASCII(t *testing.T) {
	for size := range 20 {
		line := bytes.Repeat([]byte{'~'}, size)
		if !ascii(line) {
			t.Errorf("%q", line)
		}
		for i := range line {
			for c := range 256 {
				line[i] = byte(c)
				if ascii(line) != (c < 0x7f) {
					t.Errorf("%q", line)
				}
			}
			line[i] = '~'
		}
	}
}

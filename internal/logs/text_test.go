package logs

import (
	"bytes"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/zap"
)

// Text is a line for each entry, whatever it holds, without secrets; a file of audit lines
// has JSON beside it.
func TestLinesOfText(t *testing.T) {
	var out bytes.Buffer
	log, err := New("info", &out, true)
	if err != nil {
		t.Fatal(err)
	}
	log.Debug("not shown")
	log.With(zap.String("with", "\u202e")).Warn("a\nb\x1b[2J\u202e \"q\" Bearer eyJhbGciOi.eyJhbGciOi.c2ln", zap.String("text", "c\nd"), zap.Error(errors.New("sig=c2VjcmV0")))
	Audit(log).Info("write")
	access, batch := Access(log)
	access.Info("request", zap.Int("n", 1))
	if err := batch.Sync(); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
	if len(lines) != 3 || strings.ContainsAny(out.String(), "\x1b\u202e\t\r") || strings.Contains(out.String(), "c2") {
		t.Fatalf("%d lines: %q", len(lines), out.String())
	}
	for i, want := range []string{` WARN a\nb\x1b[2J`, ` INFO audit write`, ` INFO access request {"n": 1}`} {
		if !strings.Contains(lines[i], want) {
			t.Errorf("%q lacks %q", lines[i], want)
		}
	}
	file, err := OpenFile(filepath.Join(t.TempDir(), "audit"), log)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	var lines2 bytes.Buffer
	file.file = struct {
		*bytes.Buffer
		closer
	}{&lines2, closer{}}
	file.Logger().Info("write")
	if !strings.HasPrefix(lines2.String(), `{"level":"info"`) {
		t.Errorf("an audit file has %q", lines2.String())
	}
}

type closer struct{}

func (closer) Close() error { return nil }
func (closer) Sync() error  { return nil }

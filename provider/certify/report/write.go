package report

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// The files that Write creates.
const (
	HTMLFile    = "report.html"
	JUnitFile   = "junit.xml"
	ResultsFile = "results.json"
)

// Write writes report.html, junit.xml and results.json to a directory, which
// it creates if necessary.
func Write(dir string, r Run) error {
	if err := os.MkdirAll(dir, 0o750); err != nil {
		return err
	}
	for _, file := range []struct {
		name  string
		write func(io.Writer, Run) error
	}{
		{ResultsFile, WriteResults}, {JUnitFile, writeJUnit}, {HTMLFile, writeHTML},
	} {
		var text bytes.Buffer
		if err := file.write(&text, r); err != nil {
			return fmt.Errorf("%s: %w", file.name, err)
		}
		if err := os.WriteFile(filepath.Join(dir, file.name), text.Bytes(), 0o644); err != nil { //nolint:gosec // for others to read: it has no secrets
			return err
		}
	}
	return nil
}

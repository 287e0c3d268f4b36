package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// checksums is the name of the file with all checksums.
const checksums = "SHA256SUMS"

// writeChecksums writes the checksums of all files, in the form of sha256sum.
func writeChecksums(folder string) error {
	files, err := os.ReadDir(folder) // sorted
	if err != nil {
		return err
	}
	var text strings.Builder
	for _, f := range files {
		content, err := os.ReadFile(filepath.Join(folder, f.Name()))
		if err != nil {
			return err
		}
		fmt.Fprintf(&text, "%x  %s\n", sha256.Sum256(content), f.Name())
	}
	return os.WriteFile(filepath.Join(folder, checksums), []byte(text.String()), 0o644)
}

// verify builds everything again from a clone elsewhere, without a cache, and
// compares the results.
func (r repository) verify(ctx context.Context, at commit, folder string, wanted []platform) (err error) {
	elsewhere, err := os.MkdirTemp("", "release")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(elsewhere)) }()
	clone := repository{folder: filepath.Join(elsewhere, "another", "place")}
	if _, err := r.git(ctx, "clone", "--quiet", ".", clone.folder); err != nil {
		return err
	}
	if _, err := clone.git(ctx, "checkout", "--quiet", "--detach", at.id); err != nil {
		return err
	}
	for _, p := range wanted {
		again := filepath.Join(elsewhere, p.name())
		if err := clone.build(ctx, p, again, []string{"GOCACHE=" + filepath.Join(elsewhere, "cache")}); err != nil {
			return err
		}
		if err := compareFiles(filepath.Join(folder, p.name()), again); err != nil {
			return err
		}
		fmt.Println("built again, the same:", p.name())
	}
	return nil
}

func compareFiles(one, other string) error {
	a, err := os.ReadFile(one)
	if err != nil {
		return err
	}
	b, err := os.ReadFile(other)
	if err != nil {
		return err
	}
	if !bytes.Equal(a, b) {
		return fmt.Errorf("%s: built again it is another", filepath.Base(one))
	}
	return nil
}

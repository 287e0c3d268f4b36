package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// platform is an operating system and a processor, as Go names them.
type platform struct{ os, arch string }

func (p platform) String() string { return p.os + "/" + p.arch }

// name returns the name of the program for a platform.
func (p platform) name() string { return "portico-" + p.os + "-" + p.arch }

// repository is a working copy.
type repository struct{ folder string }

// commit is the released commit.
type commit struct {
	id   string
	time time.Time
}

// commit returns the checked-out commit, unless there are uncommitted changes.
func (r repository) commit(ctx context.Context) (c commit, err error) {
	changed, err := r.git(ctx, "status", "--porcelain")
	if err != nil {
		return c, err
	}
	if changed != "" {
		return c, fmt.Errorf("what is not committed would be in it:\n%s", changed)
	}
	text, err := r.git(ctx, "log", "-1", "--format=%H %cI")
	if err != nil {
		return c, err
	}
	id, at, _ := strings.Cut(text, " ")
	c.id = id
	c.time, err = time.Parse(time.RFC3339, at)
	return c, err
}

func (r repository) git(ctx context.Context, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "git", args...)
	cmd.Dir, cmd.Stderr = r.folder, os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("git %s: %w", args[0], err)
	}
	return strings.TrimSpace(string(out)), nil
}

// build builds the program for a platform. It is static, and contains neither
// the folder nor the machine of the build. The compiler leaves out what the
// linker would strip, so the build shares compiled packages with make build.
func (r repository) build(ctx context.Context, p platform, program string, environment []string) error {
	program, err := filepath.Abs(program)
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-buildvcs=true", "-gcflags=all=-dwarf=false", "-ldflags=-s -w -buildid=", "-o", program,
		"./cmd/portico")
	cmd.Dir, cmd.Stdout, cmd.Stderr = r.folder, os.Stderr, os.Stderr
	cmd.Env = append(append(os.Environ(), "GOOS="+p.os, "GOARCH="+p.arch, "CGO_ENABLED=0", "GOFLAGS=-mod=readonly", "GOWORK=off"), environment...)
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("build %s: %w", p, err)
	}
	return nil
}

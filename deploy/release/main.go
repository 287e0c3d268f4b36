// Command release builds Portico for installation: one static program for each platform,
// with its list of components in CycloneDX form, and the checksums of all files.
//
// The output depends only on the commit and the Go version: --verify builds everything
// once more, in another folder and without a cache, and compares.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
)

// platforms lists the platforms of a release.
var platforms = []platform{
	{"linux", "amd64"}, {"linux", "arm64"}, {"darwin", "amd64"}, {"darwin", "arm64"},
}

func main() {
	folder := flag.String("out", "release", "folder for what is built; it must not exist")
	source := flag.String("source", ".", "folder of the repository")
	verify := flag.Bool("verify", false, "build everything twice, and compare")
	only := flag.String("platform", "", "build this platform alone, such as linux/amd64")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := release(ctx, *source, *folder, *only, *verify)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

func release(ctx context.Context, source, folder, only string, verify bool) error {
	wanted, err := chosen(only)
	if err != nil {
		return err
	}
	r := repository{folder: source}
	at, err := r.commit(ctx)
	if err != nil {
		return err
	}
	if err := os.Mkdir(folder, 0o755); err != nil {
		return err
	}
	for _, p := range wanted {
		program := filepath.Join(folder, p.name())
		if err := r.build(ctx, p, program, nil); err != nil {
			return err
		}
		if err := writeComponents(program, at); err != nil {
			return err
		}
		fmt.Println("built", program)
	}
	if err := writeChecksums(folder); err != nil {
		return err
	}
	if verify {
		return r.verify(ctx, at, folder, wanted)
	}
	return nil
}

func chosen(only string) ([]platform, error) {
	if only == "" {
		return platforms, nil
	}
	for _, p := range platforms {
		if p.String() == only {
			return []platform{p}, nil
		}
	}
	return nil, errors.New("--platform " + only + ": it is one of " + fmt.Sprint(platforms))
}

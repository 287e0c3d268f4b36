package load

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// Secure is a closed loop over TLS with HTTP/2. Its requests have no content and only the
// first token.
type Secure struct {
	URL         string
	Connections int
	Streams     int
	For         time.Duration
	Request     Request
}

// Run runs the load. It writes a file of URLs into the folder.
func (s Secure) Run(ctx context.Context, folder string) (Result, error) {
	var addresses strings.Builder
	for _, path := range s.Request.Paths {
		fmt.Fprintf(&addresses, "%s%s\n", s.URL, path)
	}
	file := filepath.Join(folder, "addresses")
	if err := os.WriteFile(file, []byte(addresses.String()), 0o600); err != nil {
		return Result{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, s.For+time.Minute)
	defer cancel()
	h2load := exec.CommandContext(ctx, "h2load", "-t", "1", "-c", fmt.Sprint(s.Connections), "-m", fmt.Sprint(s.Streams),
		"-D", fmt.Sprintf("%dms", s.For.Milliseconds()), "-i", file)
	if len(s.Request.Tokens) > 0 {
		h2load.Args = append(h2load.Args, "-H", "Authorization: Bearer "+s.Request.Tokens[0])
	}
	var output, trouble bytes.Buffer
	h2load.Stdout, h2load.Stderr = &output, &trouble
	if err := h2load.Run(); err != nil {
		return Result{}, fmt.Errorf("h2load: %w\n%s", err, trouble.Bytes())
	}
	return readH2load(output.String(), s.For)
}

var (
	h2loadProtocol = regexp.MustCompile(`(?m)^Application protocol: (\S+)$`)
	h2loadRequests = regexp.MustCompile(`(?m)^requests: .* (\d+) done, (\d+) succeeded, (\d+) failed, (\d+) errored, (\d+) timeout$`)
)

func readH2load(output string, lasted time.Duration) (Result, error) {
	protocol := h2loadProtocol.FindStringSubmatch(output)
	counts := h2loadRequests.FindStringSubmatch(output)
	if protocol == nil || counts == nil {
		return Result{}, fmt.Errorf("h2load has said something else: %q", output)
	}
	if protocol[1] != "h2" {
		return Result{}, fmt.Errorf("the proxy speaks %s in place of HTTP/2", protocol[1])
	}
	done, err := strconv.Atoi(counts[1])
	if err != nil {
		return Result{}, err
	}
	switch {
	case counts[1] != counts[2]:
		return Result{}, fmt.Errorf("not all answers are good: %s", counts[0])
	case done == 0:
		return Result{}, errors.New("no request was answered")
	}
	return Result{Requests: done, Elapsed: lasted}, nil
}

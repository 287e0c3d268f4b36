package load

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// Request is what a load sends, going through its paths and tokens in turn.
type Request struct {
	Method string
	Paths  []string // with their queries
	// Fresh makes each path unique: a number replaces its %d.
	Fresh  bool
	Tokens []string
	Body   string
	// Refused: all answers must be errors. Otherwise none may be.
	Refused bool
}

// Closed is a closed loop: each connection has one request at a time.
type Closed struct {
	URL         string
	Connections int
	Threads     int // of wrk
	For         time.Duration
	Request     Request
}

// Run runs the load, for whole seconds. It writes wrk's script into the folder.
func (c Closed) Run(ctx context.Context, folder string) (Result, error) {
	script := filepath.Join(folder, "load.lua")
	if err := os.WriteFile(script, []byte(c.Request.script(c.Threads)), 0o600); err != nil {
		return Result{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, c.For+time.Minute)
	defer cancel()
	seconds := max(1, int(c.For.Seconds()))
	wrk := exec.CommandContext(ctx, "wrk", "-t", fmt.Sprint(c.Threads), "-c", fmt.Sprint(c.Connections),
		"-d", fmt.Sprintf("%ds", seconds), "--timeout", "30s", "-s", script, c.URL)
	var output, trouble bytes.Buffer
	wrk.Stdout, wrk.Stderr = &output, &trouble
	if err := wrk.Run(); err != nil {
		return Result{}, fmt.Errorf("wrk: %w\n%s", err, trouble.Bytes())
	}
	return readWrk(output.String(), c.Request.Refused)
}

// summary begins the line in which the script prints its counts.
const summary = "counted:"

// script is wrk's script. If the number of threads divides that of the requests, each
// thread sends its own part of them.
func (r Request) script(threads int) string {
	var text strings.Builder
	text.WriteString("local requests, paths, tokens = {}, {}, {}\n")
	for _, path := range r.Paths {
		fmt.Fprintf(&text, "paths[#paths+1] = %q\n", path)
	}
	for _, token := range r.Tokens {
		fmt.Fprintf(&text, "tokens[#tokens+1] = %q\n", "Bearer "+token)
	}
	fmt.Fprintf(&text, "local method, body, fresh, threads = %q, %q, %t, %d\n", r.Method, r.Body, r.Fresh, threads)
	text.WriteString(`
local started, sent = 0, 0
function setup(thread)
  thread:set("number", started)
  started = started + 1
end
local function build(path, n)
  local headers = {}
  if #tokens > 0 then headers["Authorization"] = tokens[n % #tokens + 1] end
  if #body == 0 then return wrk.format(method, path, headers) end
  headers["Content-Type"] = "application/json"
  return wrk.format(method, path, headers, body)
end
function init()
  for n = 1, math.max(#paths, #tokens) do requests[n] = build(paths[n % #paths + 1], n) end
end
function request()
  sent = sent + 1
  if not fresh then return requests[(sent * threads + number) % #requests + 1] end
  return build(string.format(paths[sent % #paths + 1], number * 1000000000 + sent), sent)
end
function done(all, latency)
  local e = all.errors
  io.write(string.format("` + summary + ` %d %d %d %d %d\n", all.requests, all.duration,
    e.connect + e.read + e.write + e.timeout, e.status, latency:percentile(50)) .. string.format("%d\n", latency:percentile(99)))
end
`)
	return text.String()
}

func readWrk(output string, refused bool) (Result, error) {
	_, line, found := strings.Cut(output, summary)
	var requests, micros, broken, errorAnswers, p50, p99 int64
	if n, err := fmt.Sscan(line, &requests, &micros, &broken, &errorAnswers, &p50, &p99); !found || n != 6 || err != nil {
		return Result{}, fmt.Errorf("wrk has said something else: %q", output)
	}
	wanted := int64(0)
	if refused {
		wanted = requests
	}
	switch {
	case broken > 0:
		return Result{}, fmt.Errorf("%d of %d requests broke off", broken, requests)
	case errorAnswers != wanted:
		return Result{}, fmt.Errorf("%d of %d answers were errors, want %d", errorAnswers, requests, wanted)
	case requests == 0 || micros == 0:
		return Result{}, errors.New("no request was answered")
	}
	return Result{
		Requests: int(requests), Elapsed: time.Duration(micros) * time.Microsecond,
		P50: time.Duration(p50) * time.Microsecond, P99: time.Duration(p99) * time.Microsecond,
	}, nil
}

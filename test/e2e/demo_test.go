package e2e

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"portico/test/harness"
)

// The demonstration works as its user sees it: the printed lines, pasted in
// order, show what they promise, and a second start finds everything again.
func TestDemo(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	d := startDemo(t, dir)
	shown := map[string][]string{}
	for _, line := range d.lines {
		kind := kindOf(line)
		if kind == "deletion that waits" {
			continue // TestDemoTour shows it
		}
		output := run(t, dir, line)
		t.Logf("[%s] %s\n%s", kind, line, output)
		shown[kind] = append(shown[kind], output)
	}

	wantShown(t, shown, "put group", 1, `"provisioningState":"Succeeded"`)
	wantShown(t, shown, "put resource", 3, `"location":"`)
	wantRegions(t, shown, "put resource")
	wantShown(t, shown, "read resource", 1, `"location":"`)
	wantShown(t, shown, "list resources", 1, `"value":[`)
	wantRegions(t, shown, "list resources")
	wantShown(t, shown, "headers", 1, "x-ms-routing-request-id", "x-ms-correlation-request-id", "x-ms-request-id")
	if !slices.ContainsFunc(shown["conditional write"], func(s string) bool {
		return strings.Contains(s, "412") || strings.Contains(s, "PreconditionFailed")
	}) {
		t.Errorf("no write is refused for its ETag: %q", shown["conditional write"])
	}

	reads := map[string]string{}
	for _, line := range d.lines {
		if kind := kindOf(line); kind == "read resource" || kind == "list resources" {
			reads[line] = body200(t, run(t, dir, line))
		}
	}
	d.process.Stop(t, syscall.SIGINT)

	again := startDemo(t, dir)
	for line, before := range reads {
		after := body200(t, run(t, dir, strings.ReplaceAll(line, d.address, again.address)))
		if strings.ReplaceAll(after, again.address, d.address) != before {
			t.Errorf("after the second start, %s\nshows  %s\nbefore %s", line, after, before)
		}
	}
	again.process.Stop(t, syscall.SIGINT)
}

// All that is printed below the two variables, pasted at once, shows what it says: a shell
// reads the titles as comments, and the deletion waits long enough to be seen.
func TestDemoPastedWhole(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	d := startDemo(t, dir)
	text := eventually(t, "the last line", func() (string, bool) {
		printed := d.process.Stdout()
		return printed[max(0, strings.Index(printed, "portico=")):], strings.HasSuffix(printed, "/\n\n")
	})
	for line := range strings.Lines(text) { // zsh reads quotes and parentheses even there
		if strings.HasPrefix(line, "# ") && strings.ContainsAny(line, "'\"`()") {
			t.Errorf("a title that some shells do not take for a comment: %s", line)
		}
	}
	paste := func() string {
		limited, cancel := context.WithTimeout(t.Context(), settled)
		defer cancel()
		shell := exec.CommandContext(limited, "sh")
		shell.Dir, shell.Stdin, shell.WaitDelay = dir, strings.NewReader(text), time.Second // for what the shell has started
		shown, err := shell.CombinedOutput()
		if err != nil {
			t.Errorf("%v\n%s", err, shown)
		}
		return string(shown)
	}
	shown := paste()
	for _, want := range []string{`"provisioningState":"Succeeded"`, "412 Precondition Failed", "would call (forward) eastus", "202 Accepted", "waits for eastus", "next: portico jobs show", "204 No Content"} {
		if !strings.Contains(squeeze(shown), squeeze(want)) {
			t.Errorf("no %q in\n%s", want, shown)
		}
	}
	if strings.Contains(shown, "not found") || strings.Contains(shown, "yntax error") {
		t.Errorf("not all of it is for a shell:\n%s", shown)
	}
	eventually(t, "the end of the group", func() (struct{}, bool) {
		status, err := get(t, "http://"+d.address+"/subscriptions/"+harness.SubscriptionID+"/resourceGroups/demo?api-version=2021-04-01")
		return struct{}{}, err == nil && status == http.StatusNotFound
	})
	// Pasted again it ends too: beta cannot be made yet, so that nothing waits for eastus.
	if again := paste(); !strings.Contains(again, "cannot be created yet") || !strings.Contains(again, "204 No Content") {
		t.Errorf("pasted again:\n%s", again)
	}
	d.process.Stop(t, syscall.SIGINT)
}

// With a sign-in the demo serves over TLS: the printed lines work then too, and whoever asks
// as az does gets a token. test/clients has az and Terraform do it.
func TestDemoOverTLS(t *testing.T) {
	t.Parallel()
	dir, signIn := t.TempDir(), harness.FreeAddress(t)
	d := startDemo(t, dir, "--sign-in", signIn)
	printed := d.process.Stdout()
	begin, end := strings.Index(printed, "export "), strings.Index(printed, "# Read one")
	if begin < 0 || end < begin {
		t.Fatalf("no variables of clients:\n%s", printed)
	}
	shown := run(t, dir, printed[begin:end])
	if n := strings.Count(squeeze(shown), squeeze(`"provisioningState":"Succeeded"`)); n != 4 {
		t.Errorf("%d of 4 were made:\n%s", n, shown)
	}
	curl := "curl -sS --fail --cacert data/tls.pem "
	if found := run(t, dir, curl+"https://"+d.address+"/metadata/endpoints?api-version=2022-09-01"); !strings.Contains(found, `"loginEndpoint":"https://`+signIn+`"`) {
		t.Errorf("where to sign in: %s", found)
	}
	tokens := "https://" + signIn + "/adfs/oauth2/v2.0/token"
	if found := run(t, dir, curl+"https://"+signIn+"/adfs/.well-known/openid-configuration"); !strings.Contains(found, `"token_endpoint":"`+tokens+`"`) {
		t.Errorf("where to get a token: %s", found)
	}
	if got := run(t, dir, curl+"-d client_id=demo "+tokens); !strings.Contains(got, `"access_token":"ey`) {
		t.Errorf("a token: %s", got)
	}
	d.process.Stop(t, syscall.SIGINT)
}

// The tour shows each line before it runs, and at the end a deletion that waits for a
// region, of which status tells, and that ends when the region no longer refuses.
func TestDemoTour(t *testing.T) {
	t.Parallel()
	dir, address, admin := t.TempDir(), harness.FreeAddress(t), harness.FreeAddress(t)
	program := harness.Build(t).Portico
	if err := syscall.Mkfifo(filepath.Join(dir, "keys"), 0o600); err != nil {
		t.Fatal(err)
	}
	tour := harness.Start(t, "portico demo --tour", dir, "sh", "-c", `exec "$0" demo --tour --listen "$1" --admin "$2" --data data < keys`, program, address, admin)
	keys, err := os.OpenFile(filepath.Join(dir, "keys"), os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer keys.Close()
	// enter presses Enter below the line that ends with these words.
	enter := func(line string) {
		t.Helper()
		eventually(t, line, func() (struct{}, bool) { return struct{}{}, strings.Contains(tour.Stdout(), line) })
		if _, err := keys.WriteString("\n"); err != nil {
			t.Fatal(err)
		}
	}
	shows := func(text string) {
		t.Helper()
		eventually(t, text, func() (struct{}, bool) { return struct{}{}, strings.Contains(squeeze(tour.Stdout()), squeeze(text)) })
	}
	for _, line := range []string{"$demo?", "/alpha?", "/beta?", "/gamma?", "/beta?api-version=2024-01-01\"", "$portico/", "my-own-id", "-D - -o /dev/null \"$demo?", "stale", "explain GET"} {
		enter(line)
	}
	shows("412 Precondition Failed")
	shows("would call (forward) eastus")
	enter("/contoso/faults")
	enter("-X DELETE \"$demo?")
	shows("202 Accepted")
	waits := func() string {
		return run(t, dir, program+" status --config data/portico.yaml")
	}
	eventually(t, "a deletion that waits for eastus", func() (struct{}, bool) { return struct{}{}, strings.Contains(waits(), "waits for eastus") })
	enter(" status --config")
	shows("waits for eastus")
	enter("-X DELETE 'http")
	shows("The tour is over.")
	eventually(t, "the end of the group", func() (struct{}, bool) {
		status, err := get(t, "http://"+address+"/subscriptions/"+harness.SubscriptionID+"/resourceGroups/demo?api-version=2021-04-01")
		return struct{}{}, err == nil && status == http.StatusNotFound
	})
	tour.Stop(t, syscall.SIGINT)
}

// demo is a running `portico demo` and the lines that it printed.
type demo struct {
	address string
	process *harness.Process
	lines   []string
}

func startDemo(t *testing.T, dir string, more ...string) demo {
	t.Helper()
	d := demo{address: harness.FreeAddress(t)}
	admin := harness.FreeAddress(t)
	d.process = harness.Start(t, "portico demo", dir, harness.Build(t).Portico,
		append([]string{"demo", "--listen", d.address, "--admin", admin, "--data", "data"}, more...)...)
	d.process.WaitLine(t, "curl")
	eventually(t, "a ready demo", func() (struct{}, bool) {
		status, err := get(t, "http://"+admin+"/readyz")
		return struct{}{}, err == nil && status == http.StatusOK
	})
	first, _, _ := strings.Cut(d.process.Stdout(), "\n")
	if want := "http://" + admin + "/"; !strings.HasSuffix(first, want) {
		t.Errorf("the first line is %q, not the address of the console", first)
	}
	if status, err := get(t, "http://"+admin+"/"); err != nil || status != http.StatusOK {
		t.Errorf("the console: %d %v", status, err)
	}
	// The refused write is the last thing to try.
	d.lines = eventually(t, "a curl line with If-Match", func() ([]string, bool) {
		lines := curlLines(d.process.Stdout())
		return lines, slices.ContainsFunc(lines, func(l string) bool { return kindOf(l) == "conditional write" })
	})
	return d
}

// curlLines are the requests among printed lines, with what the variables say that were
// set before.
func curlLines(stdout string) []string {
	var lines, values []string
	for line := range strings.Lines(stdout) {
		line, whole := strings.CutSuffix(line, "\n")
		if name, value, ok := strings.Cut(line, "="); ok && isVariable.MatchString(name) {
			values = append(values, "$"+name, strings.NewReplacer(values...).Replace(value))
		}
		if strings.HasPrefix(line, "curl") && whole {
			lines = append(lines, strings.NewReplacer(values...).Replace(line))
		}
	}
	return lines
}

var (
	groupURL    = regexp.MustCompile(`(?i)/resourcegroups/[^/?"' ]+\?`)
	resourceURL = regexp.MustCompile(`(?i)/providers/contoso\.[a-z]+/[a-z]+/[^/?"' ]+\?`)
	isPut       = regexp.MustCompile(`-X ?PUT|--request[ =]PUT`)
	isVariable  = regexp.MustCompile(`^[a-z]+$`)
	showsHead   = regexp.MustCompile(` -[a-zA-Z]*[iIv][a-zA-Z]*( |$)| -D ?-| --(include|head|verbose|dump-header)`)
)

// kindOf classifies a printed line by what it shows.
func kindOf(line string) string {
	switch {
	case strings.Contains(line, "/contoso/faults"), strings.Contains(line, "-X DELETE"):
		return "deletion that waits"
	case strings.Contains(strings.ToLower(line), "if-match"):
		return "conditional write"
	case isPut.MatchString(line) && resourceURL.MatchString(line):
		return "put resource"
	case isPut.MatchString(line) && groupURL.MatchString(line):
		return "put group"
	case showsHead.MatchString(line):
		return "headers"
	case resourceURL.MatchString(line):
		return "read resource"
	case groupURL.MatchString(line):
		return "read group"
	default:
		return "list resources"
	}
}

// run gives a line to a shell, as pasting it would.
func run(t *testing.T, dir, line string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "sh", "-c", line)
	cmd.Dir = dir
	output, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("%s\n%v\n%s", line, err, output)
	}
	return string(output)
}

// wantShown fails the test unless lines of this kind were printed, at least so
// many, and each showed these texts; white space and case do not count.
func wantShown(t *testing.T, shown map[string][]string, kind string, least int, texts ...string) {
	t.Helper()
	if len(shown[kind]) < least {
		t.Errorf("%d lines of kind %q, want %d or more", len(shown[kind]), kind, least)
	}
	for _, output := range shown[kind] {
		for _, text := range texts {
			if !strings.Contains(squeeze(output), squeeze(text)) {
				t.Errorf("%s: no %q in\n%s", kind, text, output)
			}
		}
	}
}

// wantRegions fails the test unless what lines of this kind showed has a
// resource in each region.
func wantRegions(t *testing.T, shown map[string][]string, kind string) {
	t.Helper()
	all := squeeze(strings.Join(shown[kind], ""))
	for _, region := range harness.RegionNames() {
		if !strings.Contains(all, `"location":"`+region+`"`) {
			t.Errorf("%s: nothing in %s", kind, region)
		}
	}
}

// squeeze takes white space and case out of JSON text: neither matters to what
// it shows, nor to a location.
func squeeze(s string) string { return strings.ToLower(strings.Join(strings.Fields(s), "")) }

// body200 is what a read showed, which must not be an error.
func body200(t *testing.T, output string) string {
	t.Helper()
	if strings.Contains(squeeze(output), `"error":{`) {
		t.Errorf("an error: %s", output)
	}
	return output
}

// eventually polls until check succeeds and returns its value.
func eventually[T any](t *testing.T, what string, check func() (T, bool)) (value T) {
	t.Helper()
	harness.Await(t, settled, what, func() (ok bool) { value, ok = check(); return ok })
	return value
}

func get(t *testing.T, url string) (status int, err error) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		return 0, err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, fmt.Errorf("not yet: %w", err)
	}
	return resp.StatusCode, resp.Body.Close()
}

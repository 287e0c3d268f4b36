package contract_test

import (
	"fmt"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"portico/provider/certify/contract"
	"portico/provider/contoso"
	"portico/test/harness"
)

// showAgain runs the script of each broken case by itself, at a provider that has nothing:
// where the rule is broken, the calls get what the suite got, and where it is kept,
// something else.
func showAgain(t *testing.T, name string, broken map[string][]contract.Fault, scripts map[string]string) {
	t.Helper()
	if len(scripts) == 0 {
		t.Error("no case has a script")
	}
	for id, script := range scripts {
		if strings.HasPrefix(id, "retry/") { // a shell on a busy machine is slower than what ends soon
			script = strings.ReplaceAll(script, "Duration: 30ms", "Duration: 30s")
		}
		at := func(breaks ...string) string { return runScript(t, script, environmentOf(t, id, breaks...)...) }
		got := at(name)
		if !checkShown(t, id, script, broken[id], got) {
			continue
		}
		right := at()
		slower := slowest(t, got) > max(5, slowest(t, right)) // a front door waits for 5 s
		if !slower && tookTime.ReplaceAllString(numbered(right, script), "") == tookTime.ReplaceAllString(numbered(got, script), "") {
			t.Errorf("%s: a provider that keeps the rule answers the script in the same way:\n%s\n%s", id, script, got)
		}
	}
}

// checkShown checks that a script's answers, at a provider that breaks the rule, show the
// faults of the case. It reports whether they do so each time.
func checkShown(t *testing.T, id, script string, faults []contract.Fault, got string) bool {
	t.Helper()
	if strings.Contains(script, "\nwait\n") { // what comes of a race differs from time to time
		if strings.Count(got, "HTTP/1.1 ") < 2 {
			t.Errorf("%s: the script's calls are not answered:\n%s\n%s", id, script, got)
		}
		return false
	}
	shown := faults[len(faults)-1].Exchange
	alone := !strings.HasPrefix(shown.Body, `{"value":`) // lists have what other cases made
	if !strings.Contains(got, fmt.Sprintf("HTTP/1.1 %d ", shown.Status)) || alone && !strings.Contains(settle(got, script), settle(shown.Body, script)) {
		t.Errorf("%s: the script does not get %d %s\n%s\n%s", id, shown.Status, shown.Body, script, got)
	}
	return true
}

// environmentOf is what the script of a case needs, at a provider of the kind that the case
// is about.
func environmentOf(t *testing.T, id string, breaks ...string) []string {
	t.Helper()
	switch family, _, _ := strings.Cut(id, "/"); family {
	case "certificate":
		g := serveGuarded(t, breaks...)
		return []string{"endpoint=" + g.endpoint, "CURL_CA_BUNDLE=" + g.servers.File, "TLS_CERT=" + g.door.CertFile, "TLS_KEY=" + g.door.KeyFile}
	case "created-for":
		return []string{"endpoint=" + serveClusters(t, breaks...)}
	}
	return []string{"endpoint=" + serveHere(t, contoso.Options{Region: "westus", Breaks: breaks}, nil)}
}

// anyEndpoint is where a script's words for a URL begin.
var anyEndpoint = regexp.MustCompile(`'https?://127\.0\.0\.1:\d+`)

// runScript runs a script at the endpoint that the environment names, and returns what it
// prints.
func runScript(t *testing.T, script string, environment ...string) string {
	t.Helper()
	run := exec.CommandContext(t.Context(), "sh", "-c", anyEndpoint.ReplaceAllString(script, `"$$endpoint"'`))
	run.Env = slices.Concat(run.Environ(), []string{"TMPDIR=" + t.TempDir()}, environment)
	out, err := run.Output()
	harness.OK(t, err)
	return string(out)
}

var (
	volatile = regexp.MustCompile(`(?m)^(Date|Content-Length): .*\r?\n|\d{8}T\d{6}Z|\d{4}-\d\d-\d\dT[0-9:.]+Z|127\.0\.0\.1:\d+|"percentComplete":[0-9.e-]+`)
	anyID    = regexp.MustCompile(`[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}|[0-9a-f]{128}`) // the latter of ETags
)

// tookTime is what a script prints of the time until an answer, where that shows the fault.
var tookTime = regexp.MustCompile(`(?m)^\((\d+\.\d+) s\)$`)

// slowest is the longest time that a script prints, 0 if it prints none.
func slowest(t *testing.T, answers string) float64 {
	t.Helper()
	var longest float64
	for _, found := range tookTime.FindAllStringSubmatch(answers, -1) {
		seconds, err := strconv.ParseFloat(found[1], 64)
		harness.OK(t, err)
		longest = max(longest, seconds)
	}
	return longest
}

// settle takes from answers what is another with each run.
func settle(answers, script string) string {
	return withoutIDs(answers, script, func(string) string { return "ID" })
}

// numbered is settle that keeps which of the ids are the same.
func numbered(answers, script string) string {
	numbers := map[string]int{}
	return withoutIDs(answers, script, func(id string) string {
		if numbers[id] == 0 {
			numbers[id] = len(numbers) + 1
		}
		return fmt.Sprint("ID", numbers[id])
	})
}

func withoutIDs(answers, script string, instead func(string) string) string {
	return anyID.ReplaceAllStringFunc(volatile.ReplaceAllString(answers, ""), func(id string) string {
		if strings.Contains(script, id) {
			return id
		}
		return instead(id)
	})
}

package e2e

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"portico/gateway/admin/api"
	"portico/test/harness"
)

// explainCommand runs `portico explain` and returns what it says.
func explainCommand(t *testing.T, exit int, args ...string) (stdout, stderr string) {
	t.Helper()
	p := harness.Start(t, "portico explain", t.TempDir(), harness.Build(t).Portico, append([]string{"explain"}, args...)...)
	if code := p.ExitCode(t); code != exit {
		t.Fatalf("exit code %d, want %d\n%s%s", code, exit, p.Stdout(), p.Stderr())
	}
	return p.Stdout(), p.Stderr()
}

// The command says which way a request would take, the verdict first, and the service is
// as it was.
func TestExplainCommand(t *testing.T) {
	t.Parallel()
	w := harness.NewWorld(t, harness.WorldOptions{Config: harness.Config{Server: unwatched}})
	p := w.Portico
	w.PutGroup(t, "rg")
	id := w.ResourcePath("rg", machines+"vm")
	w.PutResource(t, "rg", machines+"vm", body("eastus"))
	before := len(w.Contoso("eastus").Requests(t))

	text, _ := explainCommand(t, 0, id, "--admin", p.AdminURL)
	first, _, _ := strings.Cut(text, "\n")
	if first != "goes to Contoso.Compute in eastus at "+w.Contoso("eastus").URL+": the index row says so" || !strings.Contains(text, "what is known of it: portico why '"+id+"'") {
		t.Errorf("%s", text)
	}
	if text, _ = explainCommand(t, 0, w.GroupPath("rg"), "--admin", p.AdminURL); !strings.Contains(text, "what is known of it: portico why '"+w.GroupPath("rg")+"'") {
		t.Errorf("%s", text)
	}
	p.Do(t, harness.Request{Method: http.MethodPut, Path: w.GroupPath("rg") + "/providers/Microsoft.Authorization/locks/keep?api-version=2020-05-01", Body: `{"properties":{"level":"CanNotDelete"}}`}).Want(t, 201)
	text, _ = explainCommand(t, 0, "DELETE", id+"?api-version="+harness.Version, "--config", p.ConfigFile)
	if !strings.HasPrefix(text, "refused: 409 ScopeLocked: ") || !strings.Contains(text, "intent          REFUSED") {
		t.Errorf("%s", text)
	}
	var e api.Explanation
	text, _ = explainCommand(t, 0, "DELETE", id+"?api-version="+harness.Version, "--admin", p.AdminURL, "-o", "json")
	if err := json.Unmarshal([]byte(text), &e); err != nil || e.Verdict.Code != "ScopeLocked" || len(e.Locks) != 1 {
		t.Errorf("%v: %s", err, text)
	}
	if after := len(w.Contoso("eastus").Requests(t)); after != before {
		t.Errorf("the provider got %d requests", after-before)
	}
	if _, stderr := explainCommand(t, 1, "vm", "--admin", p.AdminURL); !strings.Contains(stderr, "begins with '/'") {
		t.Errorf("%s", stderr)
	}
	lines := 0
	for line := range strings.SplitSeq(p.Log(), "\n") {
		if strings.Contains(line, `"admin read"`) && strings.Contains(line, `"/admin/explain"`) {
			lines++
		}
	}
	if lines != 5 {
		t.Errorf("the audit log has %d lines of it", lines)
	}
}

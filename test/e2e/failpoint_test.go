package e2e

import (
	"bytes"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"portico/internal/failpoint"
	"portico/test/harness"
)

// A normal build has no code at the points, not a symbol of the package, and knows
// none of the names. That this could be seen is shown by a build that has them.
func TestNormalBuildHasNoPoints(t *testing.T) {
	t.Parallel()
	if failpoint.Enabled {
		t.Skip("this test itself is built with the points")
	}
	for _, c := range []struct {
		program, file string
		there         bool
	}{{harness.Build(t).Portico, "off.go", false}, {harness.BuildFailpoints(t), "on.go", true}} {
		if at := stepsWithCode(t, c.program, c.file); (len(at) >= 10) != c.there || !c.there && len(at) > 0 {
			t.Errorf("%s has code of the points in %q", c.program, at)
		}
		symbols := tool(t, "nm", c.program)
		if got := strings.Contains(symbols, " portico/internal/failpoint."); got != c.there || !strings.Contains(symbols, " portico/inventory.") {
			t.Errorf("%s has symbols of the package: %v", c.program, got)
		}
		text, err := os.ReadFile(c.program)
		harness.OK(t, err)
		for _, d := range failpoint.All() {
			if got := bytes.Contains(text, []byte(d.Point)); got != c.there {
				t.Errorf("%s holds the name %s: %v", c.program, d.Point, got)
			}
		}
	}
}

// stepsWithCode lists the functions of the project, but for those of package
// failpoint, that call the package or have instructions of a file of it.
func stepsWithCode(t *testing.T, program, file string) (functions []string) {
	t.Helper()
	function := ""
	for line := range strings.Lines(tool(t, "objdump", "-s", "^portico/", program)) {
		if name, is := strings.CutPrefix(line, "TEXT "); is {
			function, _, _ = strings.Cut(name, "(SB)")
			continue
		}
		own := strings.HasPrefix(strings.TrimSpace(line), file+":") || strings.Contains(line, " portico/internal/failpoint.")
		if own && !strings.HasPrefix(function, "portico/internal/failpoint.") && !slices.Contains(functions, function) {
			functions = append(functions, function)
		}
	}
	return functions
}

func tool(t *testing.T, args ...string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", append([]string{"tool"}, args...)...).Output()
	harness.OK(t, err)
	return string(out)
}

// pointSettings has a long batch begin with the third request.
const pointSettings = moveSettings + `
batch: {immediate: 2, atOnce: 2}
`

// withPoints is a world whose gateway is built with failpoints.
func withPoints(t *testing.T, extra string) *harness.World {
	t.Helper()
	w := movers(t, harness.WorldOptions{Config: harness.Config{Failpoints: true, ComputeRegistration: "required", Extra: extra}})
	for _, sub := range []string{harness.SubscriptionID, otherSubscription} {
		w.Portico.Do(t, harness.Request{Method: http.MethodPost, Path: "/subscriptions/" + sub + "/providers/Contoso.Compute/register" + ownVersion}).Want(t, 200)
	}
	w.PutGroup(t, "rg")
	return w
}

// Each step that can fail fails as it would by itself: the client has the error
// of that, and the index comes to agree with the provider.
func TestPointFails(t *testing.T) {
	t.Parallel()
	// What was sent and not settled ends by time.
	w := withPoints(t, strings.NewReplacer("callTimeout: 30s", "callTimeout: 8s", "sendWithin: 30s", "sendWithin: 6s").Replace(patient(pointSettings)))
	for _, c := range []struct {
		at     failpoint.Point
		status int
		code   string
		held   bool
	}{
		{failpoint.StoreCommitBefore, 503, "ServerTimeout", false},
		{failpoint.StoreCommitAfter, 503, "ServerTimeout", false},
		{failpoint.UpstreamSendBefore, 502, "BadGatewayConnection", false},
		{failpoint.UpstreamSendAfter, 502, "BadGatewayConnection", true},
		{failpoint.AnswerSettleBefore, 201, "", true},
		{failpoint.JobClaimBefore, 201, "", true},
		{failpoint.JobClaimAfter, 201, "", true},
	} {
		vm := w.ResourcePath("rg", "Contoso.Compute/virtualMachines/"+strings.ReplaceAll(string(c.at), ".", "-"))
		at := vm + "?api-version=" + harness.Version
		w.Portico.SetPoint(t, c.at, "fail") // also what Portico does by itself meanwhile
		a := w.Portico.Do(t, harness.Request{Method: http.MethodPut, Path: at, Body: body("westus")})
		if a.Status != c.status || a.ErrorCode() != c.code {
			t.Errorf("%s: %d %s", c.at, a.Status, a.Body)
		}
		if c.status == http.StatusCreated { // what has to be followed or asked for needs a job
			w.Portico.Do(t, harness.Request{
				Method: http.MethodPut, Path: at, Body: body("westus"), Header: harness.Header("X-Contoso-Async", "azure-async", "X-Contoso-Duration", "50ms"),
			}).Want(t, 200)
		}
		soon(t, string(c.at)+" is reached", func() bool { return w.Portico.Points(t)[c.at].Fired > 0 })
		w.Portico.ClearPoint(t, c.at)
		list := w.GroupPath("rg") + "/resources" + ownVersion
		soon(t, string(c.at)+": the index agrees with the provider", func() bool {
			listed := slices.ContainsFunc(w.Portico.Do(t, harness.Request{Path: list}).Want(t, 200).Values(t), func(r map[string]any) bool { return r["id"] == vm })
			return listed == c.held && len(unfinishedJobs(t, w.Portico)) == 0
		})
		if got := w.Contoso("westus").Holds(t, vm); got != c.held {
			t.Errorf("%s: the provider holds it: %v", c.at, got)
		}
	}
	if err := w.Portico.TrySetPoint(t.Context(), failpoint.GroupCloseAfter, "fail"); err == nil {
		t.Error("a point that no step can fail at takes the rule")
	}
}

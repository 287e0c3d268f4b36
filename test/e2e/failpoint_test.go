package e2e

import (
	"bytes"
	"fmt"
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

// A little of everything that Portico does comes to every point.
func TestEveryPointIsReached(t *testing.T) {
	t.Parallel()
	w := withPoints(t, patient(pointSettings))
	p := w.Portico
	write := func(method, path, content string, header http.Header) harness.Answer {
		t.Helper()
		return p.Do(t, harness.Request{Method: method, Path: path, Body: content, Header: header})
	}
	version := "?api-version=" + harness.Version
	vm := w.ResourcePath("rg", "Contoso.Compute/virtualMachines/vm")
	write(http.MethodPut, vm+version, body("westus"), nil).Want(t, 201)
	write(http.MethodDelete, vm+version, "", harness.Header("X-Contoso-Async", "location", "X-Contoso-Duration", "50ms")).Want(t, 202)

	var puts []string
	for i := range 3 {
		puts = append(puts, fmt.Sprintf(`{"name":"%d","httpMethod":"PUT","url":"%s%s","content":%s}`, i, machine(w, i), version, body("eastus")))
	}
	polled(t, sendBatch(t, p, puts, 202), p)

	regions := harness.RegionNames()
	deployed(t, w, p, "d", putDeployment(t, w, p, "d", fmt.Sprintf(threeMachines, regions[0], regions[1], hiddenWord), 201))

	to := group(t, w, harness.SubscriptionID, "to")
	beginMove(t, p, moveRequest("moveResources", w.GroupPath("rg"), to, machine(w, 0))).end(t, p).Want(t, 200, 204)
	beginDelete(t, w, p, "rg").gone(t, p)

	p.Admin(t, harness.Request{
		Method: http.MethodPut, Path: "/admin/subscriptions/" + otherSubscription,
		Body: fmt.Sprintf(`{"tenantId":%q,"state":"Deleted"}`, harness.TenantID),
	}).Want(t, 200)

	var missing []failpoint.Point
	defer func() {
		if len(missing) > 0 {
			t.Errorf("not reached: %v", missing)
		}
	}()
	soon(t, "every point is reached", func() bool {
		missing = nil
		for name, state := range p.Points(t) {
			if state.Hits == 0 {
				missing = append(missing, name)
			}
		}
		return len(missing) == 0
	})
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

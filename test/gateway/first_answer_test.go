package gateway_test

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	described "portico/gateway/admin/api"
)

// longWait waits longer than any test takes: what is answered at once is not waited for.
const longWait = "operations: {firstAnswer: 60s}"

// soon fails if what is answered at once took as long as a wait.
func soon(t *testing.T, began time.Time) {
	t.Helper()
	if time.Since(began) >= time.Minute {
		t.Error("the answer waited")
	}
}

// final checks an answer that says how an operation has ended: there is nothing to poll.
func (s *site) final(status int, method, target, body string) seen {
	s.t.Helper()
	got := s.ok(status, method, target, body)
	for _, name := range []string{"Location", "Azure-Asyncoperation", "Retry-After"} {
		if len(got.header[name]) != 0 {
			s.t.Errorf("%s %s: %s %v", method, target, name, got.header[name])
		}
	}
	return got
}

// machineOutput deploys a machine, and shows what a provider says of it.
func machineOutput(name, rest string) string {
	return strings.Replace(deploymentOf("Incremental", "", machineIn(name, `, "location": "westus"`+rest)), `"resources"`,
		`"outputs": {"where": {"type": "string", "value": "[reference('m', '2024-01-01', 'full').location]"}}, "resources"`, 1)
}

// What ends soon ends in its first answer, as its last poll would have.
func TestOperationsEndInTheirFirstAnswer(t *testing.T) {
	s := newSite(t, setup{sections: longWait + "\nbatch: {immediate: 2}"})
	s.work()
	s.group("g")
	s.group("other")
	d := strings.TrimSuffix(deploymentPath(groupPath("g"), ""), "/"+deploymentAPI) + deploymentAPI
	for _, status := range []int{201, 200} {
		got := s.final(status, "PUT", d, machineOutput("m", ""))
		if !strings.Contains(got.text, `"provisioningState":"Succeeded"`) || !strings.Contains(got.text, `"where":{"type":"String","value":"westus"}`) || strings.Contains(got.text, `"error"`) {
			t.Errorf("%s", got.text)
		}
	}
	m := machinePath("g", "m")
	for _, action := range []string{"validateMoveResources", "moveResources"} {
		if got := s.final(204, "POST", groupPath("g")+"/"+action+own, moveTo(groupPath("other"), m)); got.text != "" {
			t.Errorf("%s", got.text)
		}
	}
	s.ok(200, "GET", machinePath("other", "m")+api, "")
	if got := s.final(204, "DELETE", d, ""); got.text != "" {
		t.Errorf("%s", got.text)
	}
	s.want(404, "DeploymentNotFound", "GET", d, "")
	if got := s.final(200, "POST", batchPath, longBatch(3)); len(decode[responses](t, got).Responses) != 6 {
		t.Errorf("%s", got.text)
	}
	if got := s.final(200, "DELETE", groupPath("other")+own, ""); got.text != "" {
		t.Errorf("%s", got.text)
	}
	s.want(404, "ResourceGroupNotFound", "GET", groupPath("other")+own, "")
}

// What fails soon says why as a poll would. A deployment says so by a poll alone: clients
// find no code in a PUT's answer that shows one which failed.
func TestOperationsFailInTheirFirstAnswer(t *testing.T) {
	s := newSite(t, setup{sections: longWait})
	s.work()
	g := s.group("g")
	s.group("other")
	m := s.machine("g", "m", "westus")
	s.rule("westus", "PUT", m, "status=400", 1)
	d := strings.TrimSuffix(deploymentPath(g, ""), "/"+deploymentAPI) + deploymentAPI
	accepted := s.ok(201, "PUT", d, machineOutput("m", ""))
	if strings.Contains(accepted.text, "Failed") || strings.Contains(accepted.text, "error") || accepted.header.Get("Retry-After") != "1" {
		t.Errorf("%v %s", accepted.header, accepted.text)
	}
	if got := s.do("GET", s.local(accepted.header.Get("Azure-Asyncoperation")), ""); !strings.Contains(got.text, `"status":"Failed","error":{"code":"DeploymentFailed"`) || !strings.Contains(got.text, "ContosoFault") {
		t.Errorf("%s", got.text)
	}

	s.rule("westus", "POST", g, "status=400", 1)
	moved := s.want(409, "ResourceMoveFailed", "POST", g+"/moveResources"+own, moveTo(groupPath("other"), m))
	s.rule("westus", "DELETE", m, "status=409", 1)
	deleted := s.want(409, "ResourceGroupDeletionBlocked", "DELETE", g+own, "")
	for _, got := range []seen{moved, deleted} {
		if !strings.Contains(got.text, m) || len(got.header["Location"]) != 0 {
			t.Errorf("%v %s", got.header, got.text)
		}
	}
	failed := map[string]int{}
	for _, e := range s.activities("") {
		if e.Status.Value == "Failed" {
			failed[e.Authorization.Action]++
		}
	}
	if failed["Microsoft.Resources/subscriptions/resourceGroups/delete"] != 1 || failed["Microsoft.Resources/subscriptions/resourceGroups/moveResources/action"] > 1 {
		t.Errorf("what failed is recorded once: %v", failed)
	}
}

// An operation is polled soon after it began, and ever more seldom while it goes on.
func TestPollsBecomeRare(t *testing.T) {
	s := newSite(t, setup{})
	g := s.group("g")
	s.machine("g", "m", "westus")
	accepted := s.ok(202, "DELETE", g+own, "")
	age := time.Duration(0)
	for _, c := range []struct {
		age         time.Duration
		least, most int // the clock goes on by itself, too
	}{{0, 1, 9}, {40 * time.Second, 10, 15}, {hour, 15, 15}} {
		s.clock.advance(c.age - age)
		age = c.age
		for status, poll := range map[int]string{202: s.resultOf(accepted), 200: s.statusOf(accepted)} {
			got := s.ok(status, "GET", poll, "").header.Get("Retry-After")
			if seconds, err := strconv.Atoi(got); err != nil || seconds < c.least || seconds > c.most {
				t.Errorf("after %s: Retry-After %q, want from %d to %d", c.age, got, c.least, c.most)
			}
		}
	}
}

// The end is seen also if another replica has brought it about.
func TestFirstAnswerSeesOtherReplicas(t *testing.T) {
	s := newSite(t, setup{sections: longWait})
	g := s.group("g")
	s.machine("g", "m", "westus")
	other := newSite(t, setup{beside: s, path: s.path})
	other.work()
	began := time.Now()
	s.final(200, "DELETE", g+own, "")
	soon(t, began)
}

// A request that joins an operation waits for its end, too. A caller has a bound on its
// waits, and a gateway that drains does not wait.
func TestFirstAnswersWaitWithinBounds(t *testing.T) {
	s := newSite(t, setup{tokens: true, limits: "callerShare: 50%", sections: "operations: {firstAnswer: 60s, waiting: 2}"})
	began := time.Now()
	by := func(token string) []string { return []string{"Authorization", bearer(token)} }
	s.ok(201, "PUT", groupPath("g")+own, westus, by(secret)...)
	s.ok(201, "PUT", machinePath("g", "m")+api, westus, by(secret)...)
	answered := map[string]chan int{secret: make(chan int, 3), second: make(chan int, 3)}
	deletes := func(token string) {
		go func() { answered[token] <- s.do("DELETE", groupPath("g")+own, "", by(token)...).status }()
	}
	for token, answers := range answered {
		deletes(token)
		deletes(token)
		if got := <-answers; got != 202 {
			t.Errorf("%d", got)
		}
	}
	for _, answers := range answered {
		select {
		case got := <-answers:
			t.Errorf("%d: it did not wait", got)
		default:
		}
	}
	s.gateway.Drain()
	for token, answers := range answered {
		if got := <-answers; got != 202 {
			t.Errorf("%d", got)
		}
		deletes(token)
		if got := <-answers; got != 202 {
			t.Errorf("%d", got)
		}
	}
	soon(t, began)
}

// Neither a request in a batch waits, nor one that is only explained.
func TestFirstAnswersThatDoNotWait(t *testing.T) {
	s := newSite(t, setup{sections: longWait})
	s.group("g")
	s.machine("g", "m", "westus")
	began := time.Now()
	if e := s.explained(described.Question{Method: "DELETE", Path: groupPath("g") + own}); e.Verdict.Status != 202 {
		t.Errorf("%+v", e.Verdict)
	}
	got := s.ok(200, "POST", batchPath, fmt.Sprintf(`{"requests":[{"httpMethod":"DELETE","url":%q}]}`, groupPath("g")+own))
	if r := decode[responses](t, got).Responses[0]; r.HTTPStatusCode != http.StatusAccepted || r.Headers["Retry-After"] != "1" {
		t.Errorf("%s", got.text)
	}
	soon(t, began)
}

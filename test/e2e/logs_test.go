package e2e

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"portico/test/harness"
)

// logLine is a line of a log.
type logLine map[string]any

func (l logLine) is(logger string) bool { return l["logger"] == logger }

// linesOf reads a log, of which every line has to be an object that holds no
// control character. The last one may still be on its way.
func linesOf(t *testing.T, text string) (all []logLine) {
	t.Helper()
	for line := range strings.Lines(text[:strings.LastIndexByte(text, '\n')+1]) {
		var l logLine
		if err := json.Unmarshal([]byte(line), &l); err != nil {
			t.Fatalf("%v: %q", err, line)
		}
		if strings.ContainsFunc(strings.TrimSuffix(line, "\n"), func(c rune) bool { return c < ' ' || c == 0x7f || c == '\u2028' }) {
			t.Errorf("control characters in %q", line)
		}
		all = append(all, l)
	}
	return all
}

// logged waits for the line of a logger with a client request id: it is written
// after the answer.
func logged(t *testing.T, read func() string, logger, id string) logLine {
	t.Helper()
	for end := time.Now().Add(settled); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		var found []logLine
		for _, l := range linesOf(t, read()) {
			if l.is(logger) && l["clientRequestId"] == id {
				found = append(found, l)
			}
		}
		if len(found) == 1 {
			return found[0]
		}
		if len(found) > 1 {
			t.Fatalf("%d lines: %v", len(found), found)
		}
	}
	t.Fatalf("no line of %s with %q in\n%s", logger, id, read())
	return nil
}

func (l logLine) want(t *testing.T, fields map[string]any) {
	t.Helper()
	for name, want := range fields {
		if got := l[name]; fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%s is %v, want %v, in %v", name, got, want, l)
		}
	}
}

// TestLogsOfARealProcess looks at what a process writes: a line for each
// request, and apart from that one for each that may change something.
func TestLogsOfARealProcess(t *testing.T) {
	t.Parallel()
	audit := filepath.Join(t.TempDir(), "audit.log")
	w := harness.NewWorld(t, harness.WorldOptions{Config: harness.Config{
		Tokens: []harness.Token{alice},
		Extra:  fmt.Sprintf("log: {audit: %q, oneIn: {own: 1000}}\n", audit),
	}})
	p := w.Portico
	read := func(file string) string {
		t.Helper()
		text, err := os.ReadFile(file)
		harness.OK(t, err)
		return string(text)
	}
	ofAudit := func() string { return read(audit) }
	const (
		group   = "/subscriptions/" + harness.SubscriptionID + "/resourceGroups/logs"
		machine = group + "/providers/Contoso.Compute/virtualMachines/m"
	)
	do := func(id string, status int, method, path, body string) harness.Answer {
		t.Helper()
		a := p.Do(t, harness.Request{
			Method: method, Path: path, Body: body,
			Header: harness.Header("x-ms-client-request-id", id, "User-Agent", "sdk/1 ${HOME} {env.HOME} %s", "Content-Type", "application/json"),
		})
		if a.Status != status {
			t.Fatalf("%s %s: %d %s", method, path, a.Status, a.Body)
		}
		return a
	}
	do("group", 201, "PUT", group+"?api-version="+harness.Version, `{"location":"westus"}`)
	const body = `{"location":"eastus","properties":{"secret":"never-in-a-log"}}`
	put := do("put", 201, "PUT", machine+"?api-version="+harness.Version+"&sig=never-in-a-log", body)
	do("get", 200, "GET", machine+"?api-version="+harness.Version, "")
	do("list", 200, "GET", group+"/providers/Contoso.Compute/virtualMachines?api-version="+harness.Version, "")
	do("absent", 404, "DELETE", group+"-none?api-version="+harness.Version, "")

	routing := put.Header.Get("x-ms-routing-request-id")
	l := logged(t, p.Log, "access", "put")
	l.want(t, map[string]any{
		"msg": "request", "method": "PUT", "class": "instance", "path": machine, "query": "api-version=" + harness.Version + "&sig=REDACTED",
		"status": 201, "outcome": "answered", "bytesIn": len(body), "bytesOut": len(put.Body), "calls": 1,
		"subscription": harness.SubscriptionID, "provider": "Contoso.Compute", "type": "Contoso.Compute/virtualMachines", "region": "eastus",
		"endpoint": strings.TrimPrefix(w.Contoso("eastus").URL, "http://"), "correlationId": put.Header.Get("x-ms-correlation-request-id"),
		"routingId": routing, "requestId": routing[len(routing)-36:], "client": "127.0.0.1", "userAgent": "sdk/1 ${HOME} {env.HOME} %s",
	})
	whole, _ := l["seconds"].(float64)
	if provider, _ := l["providerSeconds"].(float64); provider <= 0 || provider > whole {
		t.Errorf("%v of %v seconds", provider, whole)
	}
	logged(t, p.Log, "access", "list").want(t, map[string]any{"region": "several", "class": "collection"})
	logged(t, p.Log, "access", "absent").want(t, map[string]any{"status": 404, "outcome": "refused", "cause": "gateway"})

	l = logged(t, ofAudit, "audit", "put")
	l.want(t, map[string]any{
		"msg": "write", "tenantId": alice.TenantID, "objectId": alice.ObjectID, "method": "PUT", "action": "Contoso.Compute/virtualMachines/write",
		"resource": machine, "region": "eastus", "status": 201, "outcome": "answered", "correlationId": put.Header.Get("x-ms-correlation-request-id"),
	})
	if began, err := time.Parse(time.RFC3339Nano, fmt.Sprint(l["began"])); err != nil || time.Since(began) > time.Hour {
		t.Errorf("it began at %v", l["began"])
	}
	logged(t, ofAudit, "audit", "group").want(t, map[string]any{"action": "Microsoft.Resources/subscriptions/resourceGroups/write"})
	logged(t, ofAudit, "audit", "absent").want(t, map[string]any{"status": 404, "outcome": "refused", "action": "Microsoft.Resources/subscriptions/resourceGroups/delete"})

	// Whoever is not let in is in both, without a name.
	refused := p.Do(t, harness.Request{
		Method: "PUT", Path: machine, Body: body, Anonymous: true,
		Header: harness.Header("Authorization", "Bearer never-in-a-log", "Cookie", "never-in-a-log", "x-ms-client-request-id", "refused"),
	})
	if refused.Status != http.StatusUnauthorized {
		t.Errorf("%d", refused.Status)
	}
	if l = logged(t, ofAudit, "audit", "refused"); l["objectId"] != nil || l["outcome"] != "refused" {
		t.Errorf("%v", l)
	}

	// What Portico does by itself has lines too, and so has the admin listener.
	deletion := do("delete", 202, "DELETE", group+"?api-version="+harness.Version, "")
	p.Admin(t, harness.Request{Method: "POST", Path: "/admin/sweeps", Body: `{"dryRun":true}`})
	for end := time.Now().Add(settled); ; time.Sleep(20 * time.Millisecond) {
		own, admin := 0, 0
		for _, l := range linesOf(t, ofAudit()) {
			if l["msg"] == "own write" && l["action"] == "Contoso.Compute/virtualMachines/delete" {
				l.want(t, map[string]any{"method": "DELETE", "resource": machine, "region": "eastus", "objectId": alice.ObjectID, "correlationId": deletion.Header.Get("x-ms-correlation-request-id")})
				own++
			}
			if l["msg"] == "admin" {
				l.want(t, map[string]any{"method": "POST", "resource": "/admin/sweeps", "status": 202})
				admin++
			}
		}
		if own > 0 && admin == 1 {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("%d lines of own writes, %d of the admin listener in\n%s", own, admin, ofAudit())
		}
	}

	// Of what the gateway answers itself, and well, one in a thousand is written.
	// Errors always are.
	for range 20 {
		do("own", 200, "GET", "/subscriptions/"+harness.SubscriptionID+"?api-version="+harness.Version, "")
	}
	do("bad", 404, "GET", group+"-none?api-version="+harness.Version, "")
	logged(t, p.Log, "access", "bad")
	if n := strings.Count(p.Log(), `"clientRequestId":"own"`); n > 1 {
		t.Errorf("%d of 20 requests are in the log", n)
	}
	for name, text := range map[string]string{"log": p.Log(), "audit log": ofAudit()} {
		for _, secret := range []string{"never-in-a-log", alice.Raw} {
			if strings.Contains(text, secret) {
				t.Errorf("the %s holds %q", name, secret)
			}
		}
	}
	if strings.Contains(p.Log(), `"logger":"audit"`) {
		t.Error("audit lines are in the log as well as in their file")
	}

	// The file is moved away, as logrotate does it; a line is in one or the other.
	before, away := ofAudit(), audit+".1"
	harness.OK(t, os.Rename(audit, away))
	do("between", 201, "PUT", group+"-2?api-version="+harness.Version, `{"location":"westus"}`)
	logged(t, func() string { return read(away) }, "audit", "between") // it is written after the answer
	p.SendHangup(t)
	for end := time.Now().Add(settled); !strings.Contains(p.Log(), `"why":"SIGHUP"`); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("no reload in\n%s", p.Log())
		}
	}
	do("rotated", 200, "PUT", group+"-2?api-version="+harness.Version, `{"location":"westus"}`)
	logged(t, ofAudit, "audit", "rotated")
	if old := read(away); !strings.HasPrefix(old, before) || strings.Contains(ofAudit(), `"clientRequestId":"between"`) {
		t.Errorf("the line between is not in the old file alone:\n%s\n%s", old, ofAudit())
	}
}

// TestLastAccessLines ends a process at once after its last answer: the line of that
// request is written all the same.
func TestLastAccessLines(t *testing.T) {
	t.Parallel()
	w := harness.NewWorld(t, harness.WorldOptions{})
	const requests = 20
	for i := range requests {
		w.Portico.Do(t, harness.Request{Method: "GET", Path: "/x", Header: harness.Header("x-ms-client-request-id", fmt.Sprint("last-", i))})
	}
	w.Portico.Stop(t)
	seen := map[any]bool{}
	for _, l := range linesOf(t, w.Portico.Log()) {
		if l.is("access") {
			seen[l["clientRequestId"]] = true
		}
	}
	for i := range requests {
		if id := fmt.Sprint("last-", i); !seen[id] {
			t.Errorf("no line of %s", id)
		}
	}
}

// TestHostileTextMakesNoLine sends, on raw connections, what might end a line,
// colour a terminal or be taken for a placeholder.
func TestHostileTextMakesNoLine(t *testing.T) {
	t.Parallel()
	w := harness.NewWorld(t, harness.WorldOptions{})
	p := w.Portico
	address := strings.TrimPrefix(p.URL, "http://")
	hostile := []string{
		`%0aFAKE`, "\x1b[31mred", `"quoted\"`, "\xff\xfe\xc0\xaf", "%0d%0a{\"logger\":\"audit\"}", "\u2028line", `\n{"msg":"request"}`,
		"{env.HOME}", "${HOME}", "%s%n%!v(MISSING)", "\x7f\x08\x08", "://user:hidden@host/?token=hidden",
	}
	dialer := net.Dialer{Timeout: 10 * time.Second}
	sent := 0
	for _, text := range hostile {
		for _, message := range []string{
			"GET /subscriptions/" + text + "?x=" + text + " HTTP/1.1\r\nHost: " + address + "\r\n",
			"PUT /x HTTP/1.1\r\nContent-Length: 0\r\nUser-Agent: " + text + "\r\nHost: " + address + "\r\n",
			"DELETE /x HTTP/1.1\r\nx-ms-client-request-id: " + text + "\r\nx-ms-correlation-request-id: " + text + "\r\nHost: " + address + "\r\n",
			text + " /x HTTP/1.1\r\nHost: " + text + "\r\n",
		} {
			conn, err := dialer.DialContext(t.Context(), "tcp", address)
			harness.OK(t, err)
			_ = conn.SetDeadline(time.Now().Add(30 * time.Second))
			if _, err := io.WriteString(conn, message+"Connection: close\r\n\r\n"); err != nil {
				t.Fatal(err)
			}
			answer, err := io.ReadAll(conn)
			if err != nil || !strings.HasPrefix(string(answer), "HTTP/1.1 ") {
				t.Errorf("%q: %q, %v", message, answer, err)
			}
			conn.Close()
			sent++
		}
	}
	if a := p.Do(t, harness.Request{Method: "GET", Path: "/x", Header: harness.Header("x-ms-client-request-id", "last")}); a.Status != 400 {
		t.Errorf("%d", a.Status)
	}
	logged(t, p.Log, "access", "last")
	lines := map[any]int{}
	for _, l := range linesOf(t, p.Log()) {
		lines[l["logger"]]++
		if strings.Contains(fmt.Sprint(l), "hidden") {
			t.Errorf("not redacted: %v", l)
		}
	}
	// The server itself refuses some; no other lines may have come into being.
	if lines["access"] > sent+1 || lines["access"] < sent/2 || lines["audit"] > sent {
		t.Errorf("%v lines of %d requests", lines, sent)
	}
	if home := os.Getenv("HOME"); home != "" && home != "/" && strings.Contains(p.Log(), home) {
		t.Errorf("%s is in the log", home)
	}
}

package contoso

import (
	"bufio"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"
)

func faulty(f string) string { return "x-contoso-fault: " + f }

func TestFaultsThatRefuse(t *testing.T) {
	s := newSite(t, "westus")
	s.refused(503, "ContosoFault", "PUT", vm+version, westVM, faulty("status=503"))
	for _, form := range []string{westVM, base64.StdEncoding.EncodeToString([]byte(westVM)), url.QueryEscape(westVM)} {
		if a := s.do(400, "PUT", vm+version, westVM, faulty("quote")); !strings.Contains(fmt.Sprint(a.at("error", "message")), form) {
			t.Errorf("%s", a.body)
		}
	}
	for call, want := range map[string]int{"PUT": 400, "DELETE": 403} {
		a := s.do(want, call, vm+version, westVM, faulty(fmt.Sprintf("refuse=%d,3", want)))
		if len(a.at("error", "details").([]any)) != 4 || a.at("error", "innererror", "innererror", "code") != "Inmost" || a.at("error", "target") == nil || !strings.Contains(fmt.Sprint(a.at("error", "additionalInfo")), westVM) {
			t.Errorf("%s", a.body)
		}
	}
	for _, f := range []string{"refuse", "refuse=200", "refuse=400,x", "refuse=400,-1"} {
		s.do(400, "PUT", vm+version, westVM, faulty(f))
	}
	if a := s.do(429, "PUT", vm+version, westVM, faulty("throttle=7")); a.header.Get("Retry-After") != "7" || a.at("error", "code") != "TooManyRequests" {
		t.Errorf("%v %s", a.header, a.body)
	}
	if a := s.do(200, "PUT", vm+version, westVM, faulty("html")); !strings.HasPrefix(a.header.Get("Content-Type"), "text/html") || !strings.Contains(a.body, "<html>") {
		t.Errorf("%v %s", a.header, a.body)
	}
	if a := s.do(307, "PUT", vm+version, westVM, faulty("redirect")); a.header.Get("Location") != s.url+vm+version {
		t.Errorf("%v", a.header)
	}
	s.refused(404, "ResourceNotFound", "GET", vm+version, "")
	s.do(201, "PUT", vm+version, westVM)
	s.refused(409, "ResourceInUse", "DELETE", vm+"x"+version, "", faulty("refuse-until="+strings.ToUpper(vm)))
	s.do(200, "DELETE", vm+version, "")
	s.do(204, "DELETE", vm+"x"+version, "", faulty("refuse-until="+vm))
	s.do(201, "PUT", vm+version, westVM)
	if a := s.do(409, "DELETE", vm+"x"+version, "", faulty("blocked-by="+vm)); strings.Contains(a.body, vm) {
		t.Errorf("%s", a.body)
	}
	if a := s.do(202, "DELETE", vm+version, "", faulty("async=azure-async-only")); a.header.Get("Azure-AsyncOperation") == "" || a.header.Get("Location") != "" {
		t.Errorf("%v", a.header)
	}
	s.do(400, "DELETE", vm+version, "", faulty("async=state"))
	s.do(400, "DELETE", vm+version, "", faulty("async=location,3,soon"))
	s.do(201, "PUT", vm+"2"+version, westVM)
	for _, f := range []string{"async=location,3", "async-fails=location,3"} {
		if a := s.do(202, "DELETE", vm+"2"+version, "", faulty(f)); a.header.Get("Retry-After") != "3" {
			t.Errorf("%s: %v", f, a.header)
		}
	}
}

func TestUnreadableAnswers(t *testing.T) {
	s := newSite(t, "westus")
	for text, want := range map[string]string{
		"page": "<!DOCTYPE html>\n<html>", "empty": "", "null": "null", "list": "[]", "object": "{}", "half": `{"`, "utf16": "\xff\xfe{\x00",
	} {
		a := s.do(201, "PUT", vm+version, westVM, faulty("unreadable="+text))
		if !strings.HasPrefix(a.body, want) || json.Valid([]byte(a.body)) != slices.Contains([]string{"null", "list", "object"}, text) {
			t.Errorf("%s: %q", text, a.body)
		}
		s.do(200, "GET", vm+version, "")
		s.refused(404, "ResourceNotFound", "GET", vm+"-absent"+version, "", faulty("unreadable="+text)) // an error stays
		s.do(200, "DELETE", vm+version, "")
	}
	s.do(400, "GET", vm+version, "", faulty("unreadable=what"))
}

func TestFaultsThatResetTheConnection(t *testing.T) {
	for _, c := range []struct {
		fault   string
		applied bool
	}{{"reset-before", false}, {"reset-after", true}, {"late=1ms", true}} {
		s := newSite(t, "westus")
		if _, err := s.send("PUT", vm+version, westVM, faulty(c.fault)); !errors.Is(err, syscall.ECONNRESET) {
			t.Errorf("%s: %v", c.fault, err)
		}
		if c.applied {
			eventually(t, func() bool {
				a, err := s.send("GET", vm+version, "")
				return err == nil && a.status == 200
			})
		} else {
			s.refused(404, "ResourceNotFound", "GET", vm+version, "")
		}
	}
}

// eventually waits for what the provider does after its client has gone.
func eventually(t *testing.T, done func() bool) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); !done(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("it did not happen")
		}
	}
}

func TestDelay(t *testing.T) {
	s := newSite(t, "westus")
	start := time.Now()
	s.do(201, "PUT", vm+version, westVM, faulty("delay=30ms"))
	if time.Since(start) < 30*time.Millisecond { // a delay may take longer, never less
		t.Error("no delay")
	}
}

func TestSlowAnswersShowThePast(t *testing.T) {
	s := newSite(t, "westus")
	s.do(201, "PUT", vm+version, westVM)
	started := time.Now()
	answered := make(chan reply, 1)
	go func() {
		a, err := s.send("DELETE", vm+version, "", faulty("slow=200ms"))
		if err != nil {
			t.Error(err)
		}
		answered <- a
	}()
	eventually(t, func() bool {
		a, err := s.send("GET", vm+version, "")
		return err == nil && a.status == 404
	})
	if a := <-answered; a.status != 200 {
		t.Errorf("%d %s", a.status, a.body)
	}
	if time.Since(started) < 200*time.Millisecond { // it may take longer, never less
		t.Error("the answer was not slow")
	}
}

func TestCloseEndsWaits(t *testing.T) {
	p, err := New(Options{Region: "westus"})
	must(t, err)
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	must(t, err)
	server := &http.Server{Handler: p}
	ended := make(chan struct{})
	go func() { defer close(ended); _ = server.Serve(listener) }()
	conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", listener.Addr().String())
	must(t, err)
	defer conn.Close()
	fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: x\r\nx-contoso-fault: stall\r\n\r\n", vm+version)
	if _, err := bufio.NewReader(conn).ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	if err := p.Close(); err != nil {
		t.Error(err)
	}
	if err := p.Close(); err != nil {
		t.Error(err)
	}
	server.Close()
	<-ended
}

func TestStall(t *testing.T) {
	core, logs := observer.New(zapcore.InfoLevel)
	s := newSiteWith(t, Options{Region: "westus", Log: zap.New(core)})
	s.do(201, "PUT", vm+version, westVM)
	whole := s.get(vm + version).body
	conn, a := s.raw("stall") //nolint:bodyclose // raw closes it when the test ends
	if a.ContentLength != int64(len(whole)) {
		t.Fatalf("Content-Length %d of %d", a.ContentLength, len(whole))
	}
	half := make([]byte, len(whole)/2)
	if _, err := a.Body.Read(half); err != nil || !strings.HasPrefix(whole, strings.TrimRight(string(half), "\x00")) {
		t.Errorf("%q (%v)", half, err)
	}
	conn.Close()
	eventually(t, func() bool { return logs.FilterField(zap.String("fault", "stall")).Len() == 1 })
}

// raw gets vm over a connection of its own that stays open, and gives the
// answer as it stands on the wire.
func (s *site) raw(f string) (net.Conn, *http.Response) {
	s.t.Helper()
	conn, err := new(net.Dialer).DialContext(s.t.Context(), "tcp", strings.TrimPrefix(s.url, "http://"))
	must(s.t, err)
	fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: x\r\n%s\r\n\r\n", vm+version, faulty(f))
	a, err := http.ReadResponse(bufio.NewReader(conn), nil)
	must(s.t, err)
	s.t.Cleanup(func() { conn.Close(); a.Body.Close() })
	return conn, a
}

func TestSpoiltAnswers(t *testing.T) {
	s := newSite(t, "westus")
	a := s.do(201, "PUT", vm+version, westVM, faulty("bad-json"))
	if json.Valid([]byte(a.body)) || a.body == "" {
		t.Errorf("body %q", a.body)
	}
	s.get(vm + version)          // the write was carried out
	_, r := s.raw("hop-headers") //nolint:bodyclose // raw closes it when the test ends
	for k, v := range map[string]string{"Connection": "X-Hop", "X-Hop": "1", "Keep-Alive": "timeout=5", "Server": "Contoso/1.0", "X-Powered-By": "Contoso", "Alt-Svc": `h3=":443"`} {
		if r.Header.Get(k) != v {
			t.Errorf("%s is %q", k, r.Header.Get(k))
		}
	}
	if r.Header.Get("x-ms-correlation-request-id") == "" {
		t.Errorf("headers %v", r.Header)
	}
	for _, f := range []string{"big=9000000", "big-chunked=9000000"} {
		a = s.get(vm+version, faulty(f))
		if len(a.body) != 9000000 || !json.Valid([]byte(a.body)) || (a.header.Get("Content-Length") != "") == (f == "big-chunked=9000000") {
			t.Errorf("%s: %d bytes, %v", f, len(a.body), a.header)
		}
	}
}

func TestLiesAboutHosts(t *testing.T) {
	s := newSiteWith(t, Options{Region: "westus", PageSize: 1})
	s.do(201, "PUT", vm+version, westVM)
	s.do(201, "PUT", vm+"2"+version, westVM)
	for f, base := range map[string]string{"foreign-location": "https://evil.example", "own-location": s.url} {
		a := s.do(202, "POST", vm+"/restart"+version, "", faulty(f), "x-contoso-async: azure-async")
		for _, h := range []string{"Location", "Azure-AsyncOperation"} {
			if !strings.HasPrefix(a.header.Get(h), base+"/subscriptions/") {
				t.Errorf("%s: %s is %s", f, h, a.header.Get(h))
			}
		}
		if a := s.do(202, "DELETE", vm+"2"+version, "", faulty(f)); !strings.HasPrefix(a.header.Get("Location"), base) {
			t.Errorf("%s: %v", f, a.header)
		}
		if a := s.do(202, "PUT", vm+f+version, westVM, faulty(f)); !strings.HasPrefix(a.header.Get("Location"), base) {
			t.Errorf("%s: %v", f, a.header)
		}
	}
	for f, base := range map[string]string{"foreign-next": "https://evil.example", "own-next": s.url} {
		a := s.get(compute+"/virtualMachines"+version, faulty(f))
		if next, _ := a.at("nextLink").(string); !strings.HasPrefix(next, base+compute) {
			t.Errorf("%s: %s", f, next)
		}
	}
}

func TestFaultRulesAreUsedUp(t *testing.T) {
	s := newSite(t, "westus")
	s.do(201, "POST", "/contoso/faults", `{"method":"put","pathContains":"VIRTUALMACHINES/vm1","fault":"status=503","count":2}`)
	s.do(404, "GET", vm+version, "")
	s.do(201, "PUT", compute+"/virtualMachines/other"+version, westVM)
	s.do(503, "PUT", vm+version, westVM)
	s.do(503, "PUT", vm+version, westVM)
	s.do(201, "PUT", vm+version, westVM)
	s.do(201, "POST", "/contoso/faults", `{"fault":"status=502","count":-1}`)
	s.do(201, "POST", "/contoso/faults", `{"fault":"status=503"}`)
	for range 3 {
		s.do(502, "GET", vm+version, "")
	}
	if got := s.get("/contoso/faults").at("value").([]any); len(got) != 2 {
		t.Errorf("rules %v", got)
	}
	s.do(204, "DELETE", "/contoso/faults", "")
	s.get(vm + version)
	for _, body := range []string{`{`, `{"fault":""}`, `{"fault":"x"}`, `{"fault":"html","count":0}`, `{"fault":"html","path":"x"}`} {
		s.do(400, "POST", "/contoso/faults", body)
	}
	for _, f := range []string{"status", "status=99", "throttle=x", "big=1", "delay=1h", "reset-before=1", "refuse-until=x"} {
		s.refused(400, "InvalidContosoHeader", "GET", vm+version, "", faulty(f))
	}
}

func TestRequestsAreRecordedAsTheyCame(t *testing.T) {
	s := newSite(t, "westus")
	s.do(201, "PUT", compute+"/virtualMachines/a%20%62"+version+"&x=%7e", westVM, "X-Probe: one", "X-Probe: two")
	s.get("/contoso/resources").want([]string{compute + "/virtualMachines/a b"}, "value")
	list := s.get("/contoso/requests").at("value").([]any)
	if len(list) != 1 {
		t.Fatalf("%d requests", len(list))
	}
	r := list[0].(map[string]any)
	if r["method"] != "PUT" || r["path"] != compute+"/virtualMachines/a%20%62" || r["query"] != version[1:]+"&x=%7e" ||
		fmt.Sprint(r["headers"].(map[string]any)["X-Probe"]) != "[one two]" || "http://"+r["host"].(string) != s.url || fmt.Sprint(r["contentLength"]) != fmt.Sprint(len(westVM)) {
		t.Errorf("recorded %v", r)
	}
	s.do(204, "DELETE", "/contoso/requests", "")
	s.get("/contoso/requests").want([]any{}, "value")
	s.refused(404, "NotFound", "GET", "/contoso/other", "")
	var kept recorder
	for i := range recordsKept + 3 {
		q, err := http.NewRequestWithContext(t.Context(), "GET", fmt.Sprintf("http://x/%d", i), nil)
		must(t, err)
		kept.add(time.Time{}, q)
	}
	if all := kept.all(); len(all) != recordsKept || all[0].Path != "/3" || all[recordsKept-1].Path != "/1002" {
		t.Errorf("%d kept, from %s to %s", len(all), all[0].Path, all[len(all)-1].Path)
	}
}

func TestLogShowsRequestsWithoutTheirContent(t *testing.T) {
	core, logs := observer.New(zapcore.InfoLevel)
	s := newSiteWith(t, Options{Region: "westus", Log: zap.New(core)})
	s.do(201, "PUT", vm+version+"&q=secret", `{"location":"westus","tags":{"a":"secret"}}`, "x-ms-correlation-request-id: c1", "x-ms-client-request-id: c2", "Authorization: secret")
	entries := logs.All()
	if len(entries) != 1 {
		t.Fatalf("%d entries", len(entries))
	}
	for k, v := range map[string]any{"method": "PUT", "path": vm, "status": int64(201), "correlationId": "c1", "clientRequestId": "c2"} {
		if got := entries[0].ContextMap()[k]; got != v {
			t.Errorf("%s is %v, want %v", k, got, v)
		}
	}
	if strings.Contains(fmt.Sprint(entries[0].ContextMap()), "secret") {
		t.Errorf("log %v", entries[0].ContextMap())
	}
}

// Pages that lead nowhere, or are none.
func TestMisprints(t *testing.T) {
	s := newSite(t, "westus")
	list := vm[:strings.LastIndexByte(vm, '/')] + version
	get := func(target, f string) listing {
		t.Helper()
		var page listing
		a := s.do(200, "GET", target, "", faulty(f))
		if err := json.Unmarshal([]byte(a.body), &page); err != nil {
			t.Fatalf("%s: %s", f, a.body)
		}
		return page
	}
	local := func(link string) string {
		t.Helper()
		target, found := strings.CutPrefix(link, public)
		if !found {
			t.Fatalf("the link %q", link)
		}
		return target
	}
	loop := get(list, "next-loop")
	if again := get(local(loop.NextLink), "next-loop"); again.NextLink != loop.NextLink || again.Value == nil {
		t.Errorf("%+v, then %+v", loop, again)
	}
	seen := map[string]bool{}
	target := list
	for range 10 {
		page := get(target, "endless-pages")
		if seen[page.NextLink] || len(page.Value) != 0 || page.Value == nil {
			t.Fatalf("%+v", page)
		}
		seen[page.NextLink] = true
		target = local(page.NextLink)
	}
	if page := get(list, "no-value"); page.Value != nil {
		t.Errorf("%+v", page)
	}
	a := s.do(200, "GET", list, "", faulty("gzip-bomb=10000000"), "Accept-Encoding: gzip")
	z, err := gzip.NewReader(strings.NewReader(a.body))
	if err != nil || len(a.body) > 20_000 || a.header.Get("Content-Encoding") != "gzip" {
		t.Fatalf("%d bytes, %v %v", len(a.body), a.header, err)
	}
	text, err := io.ReadAll(z)
	if err != nil || len(text) != 10_000_000 || !json.Valid(text) {
		t.Errorf("%d bytes, %v", len(text), err)
	}
}

type listing struct {
	Value    []json.RawMessage
	NextLink string
}

package e2e

import (
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"portico/test/harness"
	"portico/tracing/spans"
)

// traced is a tracing section that samples all.
func traced(c *harness.Collector) string {
	return fmt.Sprintf("tracing: {otlp: %q, sample: 1, interval: 50ms}\n", c.URL)
}

// inTrace are the spans of a trace.
func inTrace(all []harness.TraceSpan, trace string) []harness.TraceSpan {
	return slices.DeleteFunc(all, func(s harness.TraceSpan) bool { return s.Trace != trace })
}

// named are the spans whose names begin in a way.
func named(all []harness.TraceSpan, name string) []harness.TraceSpan {
	return slices.DeleteFunc(slices.Clone(all), func(s harness.TraceSpan) bool { return !strings.HasPrefix(s.Name, name) })
}

// deletionSpan waits for the span of the request that deletes a group.
func deletionSpan(t *testing.T, c *harness.Collector) harness.TraceSpan {
	t.Helper()
	var found []harness.TraceSpan
	soon(t, "the request's span", func() bool {
		found = named(c.Spans(), "DELETE /subscriptions/{s}/resourcegroups/{g}")
		return len(found) == 1
	})
	return found[0]
}

// A group's delete is one trace from the request to its end: what providers are told of,
// and what another replica does when the first is killed, belongs to it.
func TestGroupDeleteIsOneTrace(t *testing.T) {
	t.Parallel()
	const n = 24
	c := harness.StartCollector(t)
	postgres := harness.StartPostgres(t)
	w := harness.NewWorld(t, harness.WorldOptions{
		Replicas: 2, Config: harness.Config{Postgres: postgres.CreateDatabase(t, "traces"), Extra: deletionSettings + traced(c)},
	})
	resources := map[string]string{}
	for i := range n {
		resources[fmt.Sprintf("Contoso.Compute/virtualMachines/vm-%03d", i)] = []string{"westus", "eastus"}[i%2]
	}
	fill(t, w, "rg", resources)
	misbehave(t, w, "DELETE", "/vm-", "delay=500ms", -1)
	for _, region := range []string{"westus", "eastus"} {
		w.Contoso(region).ForgetRequests(t)
	}
	d := beginDelete(t, w, w.Replicas[0], "rg")
	request := deletionSpan(t, c)
	soon(t, "a resource is deleted, by one of both", func() bool { return len(named(inTrace(c.Spans(), request.Trace), "step delete")) > 0 })
	victim, other := w.Replicas[0], w.Replicas[1]
	if strings.Contains(metricsOf(t, other), `portico_jobs{kind="group-delete",state="running"} 1`) {
		victim, other = other, victim
	}
	victim.Kill(t)
	calls := map[string]int{} // by the one that was killed
	soon(t, "the calls of the one that was killed to come in", func() bool {
		before := maps.Clone(calls)
		for _, region := range []string{"westus", "eastus"} {
			calls[region] = len(deletesAt(t, w, region))
		}
		time.Sleep(100 * time.Millisecond)
		return maps.Equal(before, calls)
	})
	d.gone(t, other)
	soon(t, "the last attempt's span", func() bool {
		return slices.ContainsFunc(named(inTrace(c.Spans(), request.Trace), "job group-delete"), func(s harness.TraceSpan) bool {
			return s.Attributes["portico.outcome"] == "done"
		})
	})
	other.Stop(t) // which sends what is left

	spans := inTrace(c.Spans(), request.Trace)
	known, replicas := map[string]harness.TraceSpan{}, map[string]bool{}
	for _, s := range spans {
		known[s.ID] = s
		replicas[s.Resource["service.instance.id"]] = true
	}
	if len(replicas) != 2 {
		t.Errorf("spans of %d replicas", len(replicas))
	}
	last := named(spans, "job group-delete")
	last = last[len(last)-1:]
	for _, s := range spans {
		if _, ok := known[s.Parent]; !ok && s.ID != request.ID && s.Resource["service.instance.id"] == last[0].Resource["service.instance.id"] {
			t.Errorf("%s has the parent %q, which no one sent", s.Name, s.Parent)
		}
	}
	for _, attempt := range named(spans, "job group-delete") {
		if attempt.Parent != request.ID {
			t.Errorf("an attempt has the parent %s, want %s", attempt.Parent, request.ID)
		}
	}
	polls := named(c.Spans(), "GET /subscriptions/{s}/operationresults/{id}")
	if len(polls) == 0 || !slices.ContainsFunc(polls, func(s harness.TraceSpan) bool { return slices.Contains(s.Links, request.Trace+"-"+request.ID) }) {
		t.Errorf("none of %d polls has a link to the request", len(polls))
	}
	deletes, matched := 0, 0
	for _, region := range []string{"westus", "eastus"} {
		for i, r := range deletesAt(t, w, region) {
			deletes++
			parent := r.Headers.Get("Traceparent")
			if !strings.HasPrefix(parent, "00-"+request.Trace+"-") || !strings.HasSuffix(parent, "-01") {
				t.Errorf("a provider was sent the traceparent %q", parent)
				continue
			}
			call, ok := known[parent[36:52]]
			switch ok = ok && call.Name == "call DELETE" && call.Attributes["portico.region"] == region; {
			case ok:
				matched++
			case i >= calls[region]: // the one that was killed could not send all that it had
				t.Errorf("a call in %s has no span", region)
			}
		}
	}
	if deletes < n || matched == 0 {
		t.Errorf("%d of %d calls are spans", matched, deletes)
	}
	for replica := range replicas {
		if !slices.ContainsFunc(named(spans, "step delete"), func(s harness.TraceSpan) bool { return s.Resource["service.instance.id"] == replica }) {
			t.Errorf("%s has no step", replica)
		}
	}
}

// deletesAt are the deletions that a region's provider was asked for, in their order.
func deletesAt(t *testing.T, w *harness.World, region string) []harness.Received {
	t.Helper()
	return slices.DeleteFunc(w.Contoso(region).Requests(t), func(r harness.Received) bool { return r.Method != http.MethodDelete })
}

// Who is trusted to say that a request is traced is so within bounds; providers are told
// of Portico's own calls, or of what a trusted caller said, or of nothing. Without tracing
// what a client says passes as it came.
func TestTraceContextOfCallers(t *testing.T) {
	t.Parallel()
	const (
		trace     = "0af7651916cd43dd8448eb211c80319c"
		sampled   = "00-" + trace + "-b7ad6b7169203331-01"
		unsampled = "00-" + trace + "-b7ad6b7169203331-00"
	)
	c := harness.StartCollector(t)
	tracing := fmt.Sprintf("tracing: {otlp: %q, sample: 0, interval: 10ms, callersPerSecond: 1000}\n", c.URL)
	trusting := "  trustedProxies: [127.0.0.0/8, \"::1\"]"
	type site struct {
		w  *harness.World
		id string
	}
	start := func(server, extra string) site {
		w := harness.NewWorld(t, harness.WorldOptions{Config: harness.Config{Server: server, Extra: extra}})
		w.PutGroup(t, "rg")
		id := w.ResourcePath("rg", machines+"vm")
		create(t, w.Portico, id, "westus")
		return site{w, id}
	}
	// reported sends a GET, and returns what its provider was told.
	reported := func(s site, parent, state string) (reportedParent, reportedState string) {
		t.Helper()
		s.w.Contoso("westus").ForgetRequests(t)
		s.w.Portico.Do(t, harness.Request{
			Path: s.id + "?api-version=" + harness.Version, Header: harness.Header("traceparent", parent, "tracestate", state),
		}).Want(t, 200)
		for _, r := range s.w.Contoso("westus").Requests(t) {
			if r.Method == http.MethodGet && r.Path == s.id {
				return r.Headers.Get("Traceparent"), r.Headers.Get("Tracestate")
			}
		}
		t.Fatal("the provider was not called")
		return "", ""
	}
	off, strange, trusted := start("", ""), start("", tracing), start(trusting, tracing)

	for _, parent := range []string{sampled, unsampled, "nonsense", strings.ToUpper(sampled)} {
		if got, state := reported(off, parent, "a=1"); got != parent || state != "a=1" {
			t.Errorf("without tracing %q passes as %q, with the state %q", parent, got, state)
		}
		if got, state := reported(strange, parent, "a=1"); got+state != "" {
			t.Errorf("%q of a stranger passes as %q, with the state %q", parent, got, state)
		}
	}
	for _, parent := range []string{"nonsense", strings.ToUpper(sampled), sampled + "-more", "00-" + strings.Repeat("0", 32) + "-b7ad6b7169203331-01"} {
		if got, state := reported(trusted, parent, "a=1"); got+state != "" {
			t.Errorf("%q passes as %q, with the state %q", parent, got, state)
		}
	}
	if got, state := reported(trusted, unsampled, "a=1,b=2"); got != unsampled || state != "a=1,b=2" {
		t.Errorf("a trusted caller's %q passes as %q, with the state %q", unsampled, got, state)
	}
	if n := len(c.Spans()); n > 0 {
		t.Errorf("%d spans of what no one may have traced", n)
	}
	parent, state := reported(trusted, sampled, "a=1,b=2")
	var all []harness.TraceSpan
	soon(t, "the call's span and the request's", func() bool {
		all = c.Spans()
		return len(named(all, "GET instance")) == 1 && len(named(all, "call GET")) == 1
	})
	request, call := named(all, "GET instance")[0], named(all, "call GET")[0]
	if request.Trace != trace || request.Parent != "b7ad6b7169203331" || call.Parent != request.ID || request.State != "a=1,b=2" {
		t.Errorf("%+v\n%+v", request, call)
	}
	if want := "00-" + trace + "-" + call.ID + "-01"; parent != want || state != "a=1,b=2" {
		t.Errorf("the provider was told %q with the state %q, want %q", parent, state, want)
	}
	open := trusted.w.Portico.Admin(t, harness.Request{Path: "/metrics", Header: harness.Header("Accept", "application/openmetrics-text; version=1.0.0")})
	for _, histogram := range []string{"portico_request_seconds", "portico_upstream_seconds"} {
		if !regexp.MustCompile(histogram + `_bucket\{[^}]*\} \d+ # \{[^}]*trace_id="` + trace + `"`).Match(open.Body) {
			t.Errorf("%s has no exemplar with the trace", histogram)
		}
	}
	soon(t, "the access log names the trace", func() bool {
		return strings.Contains(trusted.w.Portico.Logs(), `"traceId":"`+trace+`","spanId":"`+request.ID+`"`)
	})
}

// Of a list over several regions each region is one span, below which its calls are.
func TestTraceOfMergedList(t *testing.T) {
	t.Parallel()
	c := harness.StartCollector(t)
	w := harness.NewWorld(t, harness.WorldOptions{Config: harness.Config{Extra: traced(c)}})
	fill(t, w, "rg", map[string]string{machines + "a": "westus", machines + "b": "eastus"})
	w.Portico.Do(t, harness.Request{Path: w.GroupPath("rg") + "/providers/Contoso.Compute/virtualMachines?api-version=" + harness.Version}).Want(t, 200)
	var lists []harness.TraceSpan
	soon(t, "the list's span", func() bool {
		lists = named(c.Spans(), "GET collection")
		return len(lists) == 1
	})
	regions := map[string]string{}
	all := inTrace(c.Spans(), lists[0].Trace)
	for _, s := range named(all, "list region") {
		if s.Parent != lists[0].ID {
			t.Errorf("%+v", s)
		}
		for _, call := range named(all, "call GET") {
			if call.Parent == s.ID && call.Attributes["portico.region"] == s.Attributes["portico.region"] {
				regions[s.Attributes["portico.region"]] = s.Attributes["portico.outcome"]
			}
		}
	}
	for _, region := range []string{"westus", "eastus"} { // the index knows that the third has none
		if regions[region] != "answered" {
			t.Errorf("%s: %q", region, regions[region])
		}
	}
}

// Spans have the names and attributes that the list of them says, with values of its
// kinds; nothing that a client says but IDs of resources, and nothing of who it is.
func TestSpansHoldWhatTheyMay(t *testing.T) {
	t.Parallel()
	c := harness.StartCollector(t)
	const mark = "evilmark"
	token := harness.Token{Raw: "secret-" + mark, TenantID: harness.TenantID, ObjectID: "5eeda110-0000-0000-0000-00000000c0de", Name: "Name " + mark}
	w := harness.NewWorld(t, harness.WorldOptions{Config: harness.Config{Tokens: []harness.Token{token}, Extra: deletionSettings + traced(c)}})
	fill(t, w, "rg", map[string]string{machines + "vm": "westus", machines + "other": "eastus"})
	vm := w.ResourcePath("rg", machines+"vm")
	for _, r := range []harness.Request{
		{Path: vm + "?api-version=" + harness.Version + "&q=" + mark},
		{Path: vm + "?api-version=" + mark},
		{Path: "/subscriptions/" + mark + "/resourceGroups/rg"},
		{Path: w.GroupPath("rg") + "/providers/" + mark + ".X/y?api-version=" + harness.Version},
		{Path: w.GroupPath("rg") + "/providers/Contoso.Compute/virtualMachines?api-version=" + harness.Version},
		{Method: http.MethodPost, Path: vm + "/" + mark + "?api-version=" + harness.Version, Body: `{"x":"` + mark + `"}`},
		{Method: "EVILMARK", Path: vm},
		{Path: vm + "?api-version=" + harness.Version, Header: harness.Header(
			"x-ms-client-request-id", mark, "x-ms-correlation-request-id", mark, "user-agent", mark, "traceparent", mark, "tracestate", "a="+mark, "x-ms-foo", mark)},
		{Method: http.MethodPut, Path: vm + "?api-version=" + harness.Version, Body: `{"location":"westus","properties":{"x":"` + mark + `"},"tags":{"` + mark + `":"` + mark + `"}}`},
		{Path: w.SubscriptionPath() + "/resources?api-version=2021-04-01&$filter=tagName%20eq%20%27" + mark + "%27"},
		{Path: vm + "?api-version=" + harness.Version, Anonymous: true},
		{Method: http.MethodPost, Path: "/batch?api-version=2020-06-01", Body: `{"requests":[{"httpMethod":"GET","name":"` + mark + `","relativeUrl":"` + vm + "?api-version=" + harness.Version + `&q=` + mark + `"}]}`},
	} {
		w.Portico.Do(t, r)
	}
	beginDelete(t, w, w.Portico, "rg").gone(t, w.Portico)
	w.Portico.Admin(t, harness.Request{Method: http.MethodPost, Path: "/admin/sweeps", Body: `{}`}).Want(t, 202)
	soon(t, "a sweep's span", func() bool { return len(named(c.Spans(), "sweep region")) > 0 })
	w.Portico.Stop(t)

	kinds := map[string][]string{} // attributes by how names begin
	for _, k := range spans.Kinds() {
		begin, _, open := strings.Cut(k.Name, "{")
		for _, a := range k.Attributes {
			kinds[begin] = append(kinds[begin], string(a))
		}
		if open && begin == "" {
			kinds["request"] = kinds[begin]
		}
	}
	seen := map[string]int{}
	for _, s := range c.Spans() {
		kind := "request"
		for begin := range kinds {
			if begin != "" && strings.HasPrefix(s.Name, begin) {
				kind = begin
			}
		}
		seen[kind]++
		for name, value := range s.Attributes {
			if !slices.Contains(kinds[kind], name) {
				t.Errorf("%q has %s, which is not on the list of its kind", s.Name, name)
			}
			lower := strings.ToLower(value)
			if strings.Contains(lower, token.ObjectID) || strings.Contains(lower, "secret-") || strings.Contains(lower, mark) && name != "portico.resource" {
				t.Errorf("%q says %s: %q", s.Name, name, value)
			}
		}
		if strings.Contains(strings.ToLower(s.Name+s.State), mark) {
			t.Errorf("a span has the name %q and the state %q", s.Name, s.State)
		}
	}
	for _, kind := range []string{"request", "call ", "store write", "store read", "job ", "step ", "list region", "sweep region"} {
		if seen[kind] == 0 {
			t.Errorf("no span of the kind %q among %v", kind, seen)
		}
	}
	batch := named(c.Spans(), "POST /batch")
	if len(batch) != 1 || len(named(inTrace(c.Spans(), batch[0].Trace), "GET instance")) != 1 {
		t.Errorf("the request in a batch is not in the batch's trace: %d", len(batch))
	}
}

// A reload changes how much is traced, and a collector that is not there changes nothing
// else.
func TestSampleIsReloaded(t *testing.T) {
	t.Parallel()
	c := harness.StartCollector(t)
	section := func(sample string) string {
		return fmt.Sprintf("tracing: {otlp: %q, sample: %s, interval: 10ms, headersFile: headers.txt}\n", c.URL, sample)
	}
	config := harness.Config{Extra: strings.Replace(section("0"), ", headersFile: headers.txt", "", 1)}
	w := harness.NewWorld(t, harness.WorldOptions{Config: config})
	p := w.Portico
	headers := filepath.Join(filepath.Dir(p.ConfigFile), "headers.txt")
	harness.OK(t, os.WriteFile(headers, []byte("Authorization: Bearer secret-1\n\nX-Tenant: t\n"), 0o600))
	w.PutGroup(t, "quiet")
	reload := func(text string) {
		t.Helper()
		config = w.Config
		config.Extra = text
		p.Write(t, p.Text(t, config))
		p.Admin(t, harness.Request{Method: http.MethodPost, Path: "/admin/reload"}).Want(t, 200)
	}
	reload(section("1"))
	w.PutGroup(t, "loud")
	soon(t, "a span with the file's header", func() bool {
		all := c.Headers()
		return len(all) > 0 && all[0].Get("Authorization") == "Bearer secret-1" && all[0].Get("X-Tenant") == "t"
	})
	c.Answer(http.StatusForbidden)
	w.PutGroup(t, "lost")
	soon(t, "what is refused is counted", func() bool {
		return strings.Contains(metricsOf(t, p), `portico_spans_total{outcome="failed"} `) && !strings.Contains(metricsOf(t, p), `portico_spans_total{outcome="failed"} 0`)
	})
	c.Answer(http.StatusOK)
	harness.OK(t, os.WriteFile(headers, []byte("Authorization: Bearer secret-2\n"), 0o600))
	reload(section("1"))
	w.PutGroup(t, "again")
	soon(t, "the new header", func() bool {
		all := c.Headers()
		return all[len(all)-1].Get("Authorization") == "Bearer secret-2"
	})
	for _, s := range c.Spans() {
		if strings.HasSuffix(s.Attributes["portico.resource"], "/quiet") {
			t.Error("a request was traced before it was to be")
		}
	}
	if strings.Contains(p.Logs(), "secret-") {
		t.Error("a header of the collector is in the log")
	}
}

// A message to a sink is a trace of its own, with what was read for it; looking for more is
// none, however long a gateway delivers.
func TestADeliveryIsOneTrace(t *testing.T) {
	t.Parallel()
	const writes = 3
	c, h := harness.StartCollector(t), newHook(t)
	w := harness.NewWorld(t, harness.WorldOptions{Config: harness.Config{Extra: withSinks(h.sink("audit", "")) + traced(c)}})
	for i := range writes {
		mustPutGroup(t, w, fmt.Sprintf("g%d", i), 0)
	}
	soon(t, "the span of each message", func() bool { return len(named(c.Spans(), "deliver audit")) >= writes })
	w.Portico.Stop(t) // which sends what is left, and ends what was going on

	all := c.Spans()
	if attempts := named(all, "job sink"); len(attempts) > 0 {
		t.Errorf("%d attempts that have no end are traced", len(attempts))
	}
	roots := map[string]bool{}
	for _, s := range all {
		roots[s.Trace] = roots[s.Trace] || s.Parent == ""
	}
	for _, s := range named(all, "store") {
		if !roots[s.Trace] {
			t.Errorf("%s of %s belongs to nothing that was sent", s.Name, s.Attributes["db.operation.name"])
		}
	}
	for _, s := range named(all, "deliver audit") {
		if s.Parent != "" || s.Failed || s.Attributes["portico.outcome"] != "delivered" || !strings.HasSuffix(s.Attributes["portico.events"], "1") {
			t.Errorf("a message's span is %+v", s)
		}
		if in := inTrace(all, s.Trace); len(in) > 2 { // itself, and the event where it was no longer in memory
			t.Errorf("the trace of a message has %d spans: %v", len(in), in)
		}
	}
}

package fanout

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"portico/arm"
	"portico/regions"
	"portico/tracing"
	"portico/upstream"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// scripted answers by region and query. What it does not know is a 400.
type scripted struct {
	mu    sync.Mutex
	pages map[string]map[string]func(context.Context) (upstream.Answer, error)
	calls []upstream.Call
}

func (s *scripted) Read(ctx context.Context, call upstream.Call) (upstream.Answer, error) {
	s.mu.Lock()
	s.calls = append(s.calls, call)
	answer := s.pages[call.Endpoint.Region][call.Query]
	s.mu.Unlock()
	if answer == nil {
		return upstream.Answer{Status: http.StatusBadRequest}, nil
	}
	return answer(ctx)
}

func (s *scripted) on(region, query string, answer func(context.Context) (upstream.Answer, error)) *scripted {
	if s.pages == nil {
		s.pages = map[string]map[string]func(context.Context) (upstream.Answer, error){}
	}
	if s.pages[region] == nil {
		s.pages[region] = map[string]func(context.Context) (upstream.Answer, error){}
	}
	s.pages[region][query] = answer
	return s
}

// says answers with a status and a body.
func (s *scripted) says(region, query string, status int, body string, header ...string) *scripted {
	h := http.Header{}
	for i := 0; i+1 < len(header); i += 2 {
		h.Set(header[i], header[i+1])
	}
	return s.on(region, query, func(context.Context) (upstream.Answer, error) {
		return upstream.Answer{Status: status, Header: h, Body: []byte(body)}, nil
	})
}

func (s *scripted) fails(region, query string, err error) *scripted {
	return s.on(region, query, func(context.Context) (upstream.Answer, error) { return upstream.Answer{}, err })
}

// listOf is a list over regions, whose first query is "q".
func listOf(t testing.TB, reader Reader, names ...string) List {
	t.Helper()
	l := List{Reader: reader, Namespace: "N.S", Public: parseURL(t, "https://public.example"), Query: "q", Header: http.Header{"X-Own": {"1"}}}
	if err := l.Path.Parse("/subscriptions/S/resourceGroups/My%20(g)/providers/N.S/things"); err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		l.Endpoints = append(l.Endpoints, &regions.Endpoint{Region: name, URLs: []*url.URL{parseURL(t, "https://"+name+".example")}})
	}
	return l
}

func joined(elements [][]byte) string { return string(bytes.Join(elements, []byte("\n"))) }

func faultOf(t *testing.T, err error) *arm.Error {
	t.Helper()
	var fault *arm.Error
	if !errors.As(err, &fault) {
		t.Fatalf("got %v, want an *arm.Error", err)
	}
	return fault
}

func TestCollectIsTheUnion(t *testing.T) {
	s := (&scripted{}).
		says("east", "q", 200, `{"value":[ {"id":"/E1","n":12345678901234567890,"e":1e400} , {"z":1,"a":"<\u003c\/"}],"nextLink":"https://east.example/subscriptions/s/resourceGroups/My%20(g)/providers/n.s/THINGS?t=2"}`, tracing.RequestHeader, "e-1").
		says("east", "t=2", 200, `{"value":[],"nextLink":"?t=3"}`, tracing.RequestHeader, "e-2"). // a page may be empty
		says("east", "t=3", 200, `{"value":[{"id":"/e2"}],"nextLink":""}`).
		says("west", "q", 200, `{"nextLink":null,"value":[{"id":"/w1"},"no object",7,null,{"id":7},{"id":null}]}`, tracing.RequestHeader, "w-1")
	l := listOf(t, s, "east", "west")
	merged, err := l.Collect(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	want := `{"id":"/E1","n":12345678901234567890,"e":1e400}
{"z":1,"a":"<\u003c\/"}
{"id":"/e2"}
{"id":"/w1"}
"no object"
7
null
{"id":7}
{"id":null}`
	if joined(merged.Elements) != want || merged.Strays != 0 || strings.Join(merged.RequestIDs, ";") != "e-1;e-2;w-1" {
		t.Errorf("got %s\n%+v", joined(merged.Elements), merged)
	}
	if len(s.calls) != 4 {
		t.Errorf("%d calls", len(s.calls))
	}
	for _, call := range s.calls {
		if call.Path != "/subscriptions/S/resourceGroups/My%20(g)/providers/N.S/things" || call.Header.Get("X-Own") != "1" || call.Content != nil {
			t.Errorf("got %+v", call)
		}
	}
}

func TestCollectShowsEachIDOnce(t *testing.T) {
	s := (&scripted{}).
		says("east", "q", 200, `{"value":[{"id":"/A","from":"east"},{"id":"/b"},{"id":"/É"}],"nextLink":"?t=2"}`).
		says("east", "t=2", 200, `{"value":[{"id":"/B","again":true},{"id":""},{"id":""}]}`). // moved to the next page meanwhile
		says("west", "q", 200, `{"value":[{"x":{"id":"/c"},"\u0069d":"\/a","from":"west"},{"id":"/é"},{"id":"/c"}]}`)
	merged, err := listOf(t, s, "east", "west").Collect(context.Background())
	want := `{"id":"/A","from":"east"}
{"id":"/b"}
{"id":"/É"}
{"id":""}
{"id":""}
{"id":"/c"}`
	if err != nil || joined(merged.Elements) != want || merged.Strays != 2 {
		t.Errorf("got %s, %d strays, %v", joined(merged.Elements), merged.Strays, err)
	}
}

func TestCollectOfNothing(t *testing.T) {
	s := (&scripted{}).
		says("east", "q", 404, `{"error":{"code":"SubscriptionNotFound","message":"m"}}`).
		says("west", "q", 200, `{"value":[]}`)
	merged, err := listOf(t, s, "east", "west").Collect(context.Background())
	if err != nil || len(merged.Elements) != 0 {
		t.Errorf("got %+v, %v", merged, err)
	}
}

// One region that fails, in whatever way, fails the list with its name.
func TestCollectFailsAsAWhole(t *testing.T) {
	const ok = `{"value":[{"id":"/a"}]}`
	text := func(status int, body string, header ...string) func(*scripted) {
		return func(s *scripted) { s.says("west", "q", status, body, header...) }
	}
	second := func(status int, body string) func(*scripted) {
		return func(s *scripted) {
			s.says("west", "q", 200, `{"value":[{"id":"/b"}],"nextLink":"?t=2"}`).says("west", "t=2", status, body)
		}
	}
	fault := func(err error) func(*scripted) { return func(s *scripted) { s.fails("west", "q", err) } }
	for _, c := range []struct {
		name    string
		west    func(*scripted)
		status  int
		code    arm.Code
		detail  arm.Code
		message string // part of the detail's
		after   time.Duration
	}{
		{"401", text(401, `{"error":{"code":"AuthenticationFailed","message":"m1"}}`), 503, "ServiceUnavailable", "AuthenticationFailed", "m1", 0},
		{"403", text(403, `{"error":{"code":"AuthorizationFailed","message":"m2"}}`), 503, "ServiceUnavailable", "AuthorizationFailed", "m2", 0},
		{"500", text(500, `<html>`), 503, "ServiceUnavailable", "InvalidProviderResponse", "status 500", 0},
		{"503", text(503, ``, "Retry-After", "7"), 503, "ServiceUnavailable", "InvalidProviderResponse", "status 503", 7 * time.Second},
		{"503 for long", text(503, ``, "Retry-After", "3600"), 503, "ServiceUnavailable", "InvalidProviderResponse", "status 503", time.Minute},
		{"204", text(204, ``), 503, "ServiceUnavailable", "InvalidProviderResponse", "status 204", 0},
		{"307", text(307, ``, "Location", "https://evil.example"), 503, "ServiceUnavailable", "InvalidProviderResponse", "status 307", 0},
		{"429", text(429, `{"error":{"code":"Slow","message":"m3"}}`, "Retry-After", "17"), 429, "TooManyRequests", "Slow", "m3", 17 * time.Second},
		{"429 without pause", text(429, ``, "Retry-After", "-3"), 429, "TooManyRequests", "InvalidProviderResponse", "status 429", 0},
		{"504", text(504, ``), 504, "GatewayTimeout", "InvalidProviderResponse", "status 504", 0},
		{"timeout", fault(&upstream.Fault{Sent: true, Err: context.DeadlineExceeded}), 504, "GatewayTimeout", "GatewayTimeout", "did not receive a response from 'N.S'", 0},
		{"refused", fault(&upstream.Fault{Err: errors.New("connection refused")}), 503, "ServiceUnavailable", "BadGatewayConnection", "'N.S'", 0},
		{"too large", fault(&upstream.Fault{Sent: true, Err: upstream.ErrTooLarge}), 503, "ServiceUnavailable", "ResponseTooLarge", "'N.S'", 0},
		{"some error", fault(errors.New("secret")), 503, "ServiceUnavailable", "BadGatewayConnection", "'N.S'", 0},
		{"HTML", text(200, `<html></html>`), 503, "ServiceUnavailable", "InvalidProviderResponse", "Unexpected character '<'", 0},
		{"cut off", text(200, `{"value":[{"id":"/b"},{"id":`), 503, "ServiceUnavailable", "InvalidProviderResponse", "Unexpected end", 0},
		{"no value", text(200, `{}`), 503, "ServiceUnavailable", "InvalidProviderResponse", "'value'", 0},
		{"value no array", text(200, `{"value":{}}`), 503, "ServiceUnavailable", "InvalidProviderResponse", "'value'", 0},
		{"two links", text(200, `{"value":[],"nextLink":"?t=2","NextLink":"?t=3"}`), 503, "ServiceUnavailable", "InvalidProviderResponse", "twice", 0},
		{"foreign link", text(200, `{"value":[],"nextLink":"https://evil.example/x?t=2"}`), 503, "ServiceUnavailable", "InvalidProviderResponse", "another host", 0},
		{"loop", second(200, `{"value":[],"nextLink":"?t=2"}`), 503, "ServiceUnavailable", "InvalidProviderResponse", "never end", 0},
		{"loop to the beginning", second(200, `{"value":[],"nextLink":"?q"}`), 503, "ServiceUnavailable", "InvalidProviderResponse", "never end", 0},
		{"500 later", second(500, ``), 503, "ServiceUnavailable", "InvalidProviderResponse", "status 500", 0},
		{"404 later", second(404, `{"error":{"code":"ResourceGroupNotFound","message":"gone"}}`), 503, "ServiceUnavailable", "ResourceGroupNotFound", "gone", 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := (&scripted{}).says("east", "q", 200, ok)
			c.west(s)
			merged, err := listOf(t, s, "east", "west").Collect(context.Background())
			fault := faultOf(t, err)
			if len(merged.Elements) != 0 {
				t.Errorf("got elements of a list that failed: %s", joined(merged.Elements))
			}
			if fault.Status != c.status || fault.Code != c.code || fault.RetryAfter != c.after || !strings.Contains(fault.Message, "1 of 2 regions of 'N.S'") {
				t.Errorf("got %d %s after %v: %s", fault.Status, fault.Code, fault.RetryAfter, fault.Message)
			}
			if len(fault.Details) != 1 || fault.Details[0].Target != "west" || fault.Details[0].Code != c.detail || !strings.Contains(fault.Details[0].Message, c.message) {
				t.Errorf("details %+v", fault.Details)
			}
			if len(s.calls) > 3 {
				t.Errorf("%d calls", len(s.calls))
			}
			if body := string(fault.Body()); strings.Contains(body, "secret") || strings.Contains(body, "evil") {
				t.Errorf("the client is told %s", body)
			}
		})
	}
}

func TestCollectSumsUpFaults(t *testing.T) {
	const body = `{"value":[]}`
	late := &upstream.Fault{Sent: true, Err: context.DeadlineExceeded}
	for _, c := range []struct {
		name    string
		script  *scripted
		status  int
		after   time.Duration
		targets string
	}{
		{"all throttled", (&scripted{}).says("a", "q", 429, "", "Retry-After", "3").says("b", "q", 429, "", "Retry-After", "9").says("c", "q", 429, ""), 429, 9 * time.Second, "a b c"},
		{"throttled for long", (&scripted{}).says("a", "q", 429, "", "Retry-After", "61").says("b", "q", 200, body).says("c", "q", 429, "", "Retry-After", "99999999999"), 429, time.Minute, "a c"},
		{"all late", (&scripted{}).fails("a", "q", late).fails("b", "q", late).says("c", "q", 504, ""), 504, 0, "a b c"},
		{"throttled and late", (&scripted{}).says("a", "q", 429, "", "Retry-After", "3").fails("b", "q", late).says("c", "q", 200, body), 503, 3 * time.Second, "a b"},
		{"mixed", (&scripted{}).says("a", "q", 200, body).says("b", "q", 403, "").fails("c", "q", late), 503, 0, "b c"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := listOf(t, c.script, "a", "b", "c").Collect(context.Background())
			fault := faultOf(t, err)
			var targets []string
			for _, d := range fault.Details {
				targets = append(targets, d.Target)
			}
			if fault.Status != c.status || fault.RetryAfter != c.after || strings.Join(targets, " ") != c.targets {
				t.Errorf("got %d after %v, details %+v", fault.Status, fault.RetryAfter, fault.Details)
			}
		})
	}
}

// Regions are asked at once, and a caller who goes ends them all.
func TestCollectEndsWithItsCaller(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	s := &scripted{}
	var asked sync.WaitGroup
	names := []string{"a", "b", "c"}
	asked.Add(len(names))
	for _, name := range names {
		s.on(name, "q", func(ctx context.Context) (upstream.Answer, error) {
			asked.Done()
			<-ctx.Done()
			return upstream.Answer{}, &upstream.Fault{Sent: true, Err: ctx.Err()}
		})
	}
	go func() {
		asked.Wait() // all of them are under way
		cancel()
	}()
	_, err := listOf(t, s, names...).Collect(ctx)
	if fault := faultOf(t, err); len(fault.Details) != 3 || fault.Status != 503 || !errors.Is(fault, context.Canceled) {
		t.Errorf("got %+v", fault)
	}
}

// More regions than are asked at once are all asked.
func TestCollectOfManyRegions(t *testing.T) {
	s := &scripted{}
	var names []string
	for i := range 3 * maxRegionsAtOnce {
		name := fmt.Sprintf("r%03d", i)
		names = append(names, name)
		s.says(name, "q", 200, `{"value":[{"id":"/`+name+`"}]}`)
	}
	merged, err := listOf(t, s, names...).Collect(context.Background())
	if err != nil || len(merged.Elements) != len(names) || string(merged.Elements[95]) != `{"id":"/r095"}` {
		t.Errorf("got %d elements, %v", len(merged.Elements), err)
	}
}

// A list may hold so many bytes, all regions together.
func TestTakeIsBounded(t *testing.T) {
	l := listOf(t, nil, "west")
	links := Links{Public: l.Public, Endpoint: l.Endpoints[0], Path: l.Path.String()}
	page := []byte(`{"value":[1],"nextLink":"?t=2"}`)
	var left atomic.Int64
	left.Store(int64(2 * len(page)))
	var result regionResult
	for range 2 {
		if next, fault := l.take(&result, page, links, &left); next != "t=2" || fault != nil {
			t.Errorf("got %q, %v", next, fault)
		}
	}
	if next, fault := l.take(&result, page, links, &left); next != "" || fault == nil || fault.Code != arm.ResponseTooLarge || len(result.elements) != 2 {
		t.Errorf("got %q, %v, %d elements", next, fault, len(result.elements))
	}
}

// A provider whose every page leads to a further one is given up.
func TestCollectGivesUpEndlessPages(t *testing.T) {
	e := &endless{}
	_, err := listOf(t, e, "west").Collect(context.Background())
	if fault := faultOf(t, err); len(fault.Details) != 1 || !strings.Contains(fault.Details[0].Message, "never end") || e.pages != maxPages {
		t.Errorf("got %+v after %d pages", fault, e.pages)
	}
}

type endless struct{ pages int }

func (e *endless) Read(context.Context, upstream.Call) (upstream.Answer, error) {
	e.pages++
	return upstream.Answer{Status: 200, Body: fmt.Appendf(nil, `{"value":[],"nextLink":"?t=%d"}`, e.pages)}, nil
}

// However elements are spread over regions and pages, the list is their union.
func TestCollectOfAnySplit(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		values := rapid.SliceOfN(rapid.SampledFrom([]string{
			`1e400`, `-0.0`, `12345678901234567890`, `"\u003c<\/é"`, `{"z":1,"a":[ 1 , 2]}`, `null`, `"nextLink"`, `{"value":[1]}`,
		}), 1, 30).Draw(t, "values")
		names := []string{"a", "b", "c", "d"}[:rapid.IntRange(1, 4).Draw(t, "regions")]

		pages := map[string][][]string{}
		want := map[string]bool{}
		for i, value := range values {
			name := rapid.SampledFrom(names).Draw(t, "region")
			element := fmt.Sprintf(`{"v": %s,"id":"/R%d"}`, value, i)
			want[element] = true
			if last := len(pages[name]) - 1; last < 0 || rapid.Bool().Draw(t, "on a new page") {
				pages[name] = append(pages[name], []string{element})
			} else {
				pages[name][last] = append(pages[name][last], element)
			}
			if rapid.IntRange(0, 4).Draw(t, "empty page") == 0 {
				pages[name] = append(pages[name], nil)
			}
		}

		s := &scripted{}
		calls := 0
		for _, name := range names {
			query := "q"
			for i := 0; i == 0 || i < len(pages[name]); i++ {
				var elements []string
				link := "null"
				if i < len(pages[name]) {
					elements = pages[name][i]
				}
				if i+1 < len(pages[name]) {
					link = fmt.Sprintf(`"?q&t=%d"`, i)
				}
				s.says(name, query, 200, `{"nextLink":`+link+`, "value":[`+strings.Join(elements, " , ")+`]}`)
				query = strings.Trim(link, `"?`)
				calls++
			}
		}
		l := List{Reader: s, Namespace: "N.S", Public: &url.URL{Scheme: "https", Host: "public.example"}, Query: "q"}
		if err := l.Path.Parse("/subscriptions/S/providers/N.S/things"); err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			l.Endpoints = append(l.Endpoints, &regions.Endpoint{Region: name, URLs: []*url.URL{{Scheme: "https", Host: name + ".example"}}})
		}
		merged, err := l.Collect(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		got := map[string]bool{}
		for _, element := range merged.Elements {
			got[string(element)] = true
		}
		if !maps.Equal(got, want) || len(merged.Elements) != len(want) || merged.Strays != 0 || len(s.calls) != calls {
			t.Fatalf("got %s after %d calls, want %v after %d", joined(merged.Elements), len(s.calls), slices.Sorted(maps.Keys(want)), calls)
		}
	})
}

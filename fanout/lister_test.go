package fanout

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"portico/arm"
	"portico/regions"
	"portico/tracing"
	"portico/upstream"
)

func TestPagesAreTheUnion(t *testing.T) {
	s := (&scriptedReader{}).
		respond("east", query, 200, `{"value":[ {"id":"/E1","n":12345678901234567890,"e":1e400} , {"z":1,"a":"<\u003c\/"}],"nextLink":"https://east.example/subscriptions/s/resourceGroups/My%20(g)/providers/n.s/THINGS?t=2"}`, tracing.RequestHeader, "e-1").
		respond("east", "t=2", 200, `{"value":[],"nextLink":"?t=3"}`, tracing.RequestHeader, "e-2"). // a page may be empty
		respond("east", "t=3", 200, `{"value":[{"id":"/e2"}],"nextLink":""}`).
		respond("west", query, 200, `{"nextLink":null,"value":[{"id":"/w1"},"no object",7,null,{"id":7},{"id":null}]}`, tracing.RequestHeader, "w-1")
	l := newList(t, s, Options{}, "east", "west")
	text, page := l.mustNext()
	const link = `,"nextLink":"https://public.example/subscriptions/S/resourceGroups/My%20(g)/providers/N.S/things?api-version=v&$skipToken=`
	if !strings.HasPrefix(text, `{"value":[{"id":"/E1","n":12345678901234567890,"e":1e400} , {"z":1,"a":"<\u003c\/"},{"id":"/w1"},"no object",7,null,{"id":7},{"id":null}]`+link) {
		t.Errorf("got %s", text)
	}
	if page.Count != 8 || page.Strays != 0 || !page.Complete || page.Unreachable != nil || strings.Join(page.RequestIDs, ";") != "e-1;w-1" {
		t.Errorf("got %+v", page)
	}
	for _, call := range s.calls {
		if call.Path != listed || call.Header.Get("X-Own") != "1" || call.Content != nil {
			t.Errorf("got %+v", call)
		}
	}
	s.requested()
	// The empty page is passed over; the region that is done is not asked again.
	text, page = l.mustNext()
	if text != `{"value":[{"id":"/e2"}]}` || page.NextLink != "" || strings.Join(page.RequestIDs, ";") != "e-2" {
		t.Errorf("got %s %+v", text, page)
	}
	if requested := s.requested(); requested != "east?t=2 east?t=3" {
		t.Errorf("asked %s", requested)
	}
}

func TestEachIDIsShownOnce(t *testing.T) {
	s := (&scriptedReader{}).
		respond("east", query, 200, `{"value":[{"id":"/A","from":"east"},{"id":"/b"},{"id":"/É"},{"id":"/B","again":true},{"id":""},{"id":""}]}`).
		respond("west", query, 200, `{"value":[{"id":"/x"},{"x":{"id":"/c"},"\u0069d":"\/a","from":"west"},{"id":"/é"},{"id":"/c"} ,{"id":"/d"}]}`)
	text, page := newList(t, s, Options{}, "east", "west").mustNext()
	want := `{"value":[{"id":"/A","from":"east"},{"id":"/b"},{"id":"/É"},{"id":""},{"id":""},{"id":"/x"},{"id":"/c"} ,{"id":"/d"}]}`
	if text != want || page.Strays != 2 || page.Count != 8 {
		t.Errorf("got %s, %d strays, %d elements", text, page.Strays, page.Count)
	}
}

// Members of the envelope are kept where all agree on them.
func TestOnlyCommonEnvelopeMembersAreKept(t *testing.T) {
	s := (&scriptedReader{}).
		respond("a", query, 200, `{"value":[],"k\u0069nd":"x","count":1,"twice":1,"twice":1,"own":{"a":[1]},"unreachable":["a"]}`).
		respond("b", query, 200, `{"own":{"a":[1]},"count":2,"unreachable":["a"],"value":[1],"kind":"x","twice":1}`).
		respond("c", query, 404, `{"error":{"code":"SubscriptionNotFound","message":"m"}}`)
	if text, _ := newList(t, s, Options{}, "a", "b", "c").mustNext(); text != `{"value":[1],"kind":"x","own":{"a":[1]}}` {
		t.Errorf("got %s", text)
	}
}

func TestEmptyRegionsGiveAnEmptyList(t *testing.T) {
	s := (&scriptedReader{}).
		respond("east", query, 404, `{"error":{"code":"SubscriptionNotFound","message":"m"}}`).
		respond("west", query, 200, `{"value":[]}`)
	if text, page := newList(t, s, Options{}, "east", "west").mustNext(); text != `{"value":[]}` || !page.Complete {
		t.Errorf("got %s %+v", text, page)
	}
}

// One region that fails, in whatever way, fails the list with its name, after
// it was asked once more; where the client wants what there is, it gets that,
// unless a region will not show the caller what it has.
func TestOneRegionFails(t *testing.T) {
	const ok = `{"value":[{"id":"/a"}]}`
	text := func(status int, body string, header ...string) func(*scriptedReader) {
		return func(s *scriptedReader) { s.respond("west", query, status, body, header...) }
	}
	fault := func(err error) func(*scriptedReader) { return func(s *scriptedReader) { s.fails("west", query, err) } }
	const unavailable, gone = arm.ServiceUnavailable, arm.InvalidProviderResponse
	for _, c := range []struct {
		name    string
		west    func(*scriptedReader)
		status  int
		code    arm.Code
		detail  arm.Code
		message string // part of the detail's
		after   time.Duration
		calls   int // to the region
		never   bool
	}{
		{"401", text(401, `{"error":{"code":"AuthenticationFailed","message":"m1"}}`), 503, unavailable, "AuthenticationFailed", "m1", 0, 1, true},
		{"403", text(403, `{"error":{"code":"AuthorizationFailed","message":"m2"}}`), 503, unavailable, "AuthorizationFailed", "m2", 0, 1, true},
		{"400", text(400, `{"error":{"code":"BadFilter","message":"m2"}}`), 503, unavailable, "BadFilter", "m2", 0, 1, false},
		{"404 of a path", text(404, `{"error":{"code":"NotFound","message":"m2"}}`), 503, unavailable, "NotFound", "m2", 0, 2, false},
		{"404 of a type", text(404, `{"error":{"code":"InvalidResourceType","message":"m2"}}`), 503, unavailable, "InvalidResourceType", "m2", 0, 2, false},
		{"404 of anybody", text(404, `<html>`), 503, unavailable, gone, "status 404", 0, 2, false},
		{"500", text(500, `<html>`), 503, unavailable, gone, "status 500", 0, 2, false},
		{"503", text(503, ``, "Retry-After", "7"), 503, unavailable, gone, "status 503", 7 * time.Second, 2, false},
		{"503 for long", text(503, ``, "Retry-After", "3600"), 503, unavailable, gone, "status 503", time.Minute, 2, false},
		{"204", text(204, ``), 503, unavailable, gone, "status 204", 0, 2, false},
		{"307", text(307, ``, "Location", "https://evil.example"), 503, unavailable, gone, "status 307", 0, 2, false},
		{"429", text(429, `{"error":{"code":"Slow","message":"m3"}}`, "Retry-After", "17"), 429, "TooManyRequests", "Slow", "m3", 17 * time.Second, 2, false},
		{"429 without pause", text(429, ``, "Retry-After", "-3"), 429, "TooManyRequests", gone, "status 429", 0, 2, false},
		{"504", text(504, ``), 504, "GatewayTimeout", gone, "status 504", 0, 2, false},
		{"timeout", fault(&upstream.Fault{Sent: true, Err: context.DeadlineExceeded}), 504, "GatewayTimeout", "GatewayTimeout", "did not receive a response from 'N.S'", 0, 2, false},
		{"refused", fault(&upstream.Fault{Err: errors.New("connection refused")}), 503, unavailable, "BadGatewayConnection", "'N.S'", 0, 2, false},
		{"too large", fault(&upstream.Fault{Sent: true, Err: upstream.ErrTooLarge}), 503, unavailable, "ResponseTooLarge", "'N.S'", 0, 2, false},
		{"some error", fault(errors.New("secret")), 503, unavailable, "BadGatewayConnection", "'N.S'", 0, 2, false},
		{"HTML", text(200, `<html></html>`), 503, unavailable, gone, "Unexpected character '<'", 0, 2, false},
		{"cut off", text(200, `{"value":[{"id":"/b"},{"id":`), 503, unavailable, gone, "Unexpected end", 0, 2, false},
		{"no value", text(200, `{}`), 503, unavailable, gone, "'value'", 0, 2, false},
		{"value no array", text(200, `{"value":{}}`), 503, unavailable, gone, "'value'", 0, 2, false},
		{"too many elements", text(200, `{"value":[`+strings.Repeat("1,", maxElements)+`1]}`), 503, unavailable, gone, "100000", 0, 2, false},
		{"two links", text(200, `{"value":[],"nextLink":"?t=2","NextLink":"?t=3"}`), 503, unavailable, gone, "twice", 0, 2, false},
		{"foreign link", text(200, `{"value":[],"nextLink":"https://evil.example/x?t=2"}`), 503, unavailable, gone, "another host", 0, 2, false},
		{"loop to the beginning", text(200, `{"value":[],"nextLink":"?`+query+`"}`), 503, unavailable, gone, "never end", 0, 2, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := (&scriptedReader{}).respond("east", query, 200, ok)
			c.west(s)
			l := newList(t, s, Options{}, "east", "west")
			fault := l.fault()
			if fault.Status != c.status || fault.Code != c.code || fault.RetryAfter != c.after || !strings.Contains(fault.Message, "1 of 2 regions of 'N.S'") {
				t.Errorf("got %d %s after %v: %s", fault.Status, fault.Code, fault.RetryAfter, fault.Message)
			}
			if len(fault.Details) != 1 || fault.Details[0].Target != "west" || fault.Details[0].Code != c.detail || !strings.Contains(fault.Details[0].Message, c.message) {
				t.Errorf("details %+v", fault.Details)
			}
			if body := string(fault.Body()); strings.Contains(body, "secret") || strings.Contains(body, "evil") {
				t.Errorf("the client is told %s", body)
			}
			if requested := s.requested(); strings.Count(requested, "west?") != c.calls || strings.Count(requested, "east?") != 1 {
				t.Errorf("asked %s", requested)
			}

			l.ClientMode = regions.Partial
			text, page, fault := l.next()
			switch {
			case c.never && (fault == nil || fault.Status != c.status):
				t.Errorf("a list without what is forbidden: %s, %v", text, fault)
			case c.never:
			case fault != nil || text != `{"value":[{"id":"/a"}],"unreachable":["west"]}` || page.Complete || strings.Join(page.Unreachable, " ") != "west":
				t.Errorf("got %s %+v %v", text, page, fault)
			}
			if held := l.options.Budget.Free(); held != 256<<20 {
				t.Errorf("%d bytes of the budget are left", held)
			}
		})
	}
}

func TestFailuresAreSummedUp(t *testing.T) {
	const body = `{"value":[]}`
	late := &upstream.Fault{Sent: true, Err: context.DeadlineExceeded}
	for _, c := range []struct {
		name    string
		script  *scriptedReader
		status  int
		after   time.Duration
		targets string
	}{
		{"all throttled", (&scriptedReader{}).respond("a", query, 429, "", "Retry-After", "3").respond("b", query, 429, "", "Retry-After", "9").respond("c", query, 429, ""), 429, 9 * time.Second, "a b c"},
		{"throttled for long", (&scriptedReader{}).respond("a", query, 429, "", "Retry-After", "61").respond("b", query, 200, body).respond("c", query, 429, "", "Retry-After", "99999999"), 429, time.Minute, "a c"},
		{"all late", (&scriptedReader{}).fails("a", query, late).fails("b", query, late).respond("c", query, 504, ""), 504, 0, "a b c"},
		{"throttled and late", (&scriptedReader{}).respond("a", query, 429, "", "Retry-After", "3").fails("b", query, late).respond("c", query, 200, body), 503, 3 * time.Second, "a b"},
		{"mixed", (&scriptedReader{}).respond("a", query, 200, body).respond("b", query, 403, "").fails("c", query, late), 503, 0, "b c"},
		{"the client's fault", (&scriptedReader{}).respond("a", query, 400, `{"error":{"code":"BadFilter","message":"m"}}`).respond("b", query, 400, "").respond("c", query, 400, ""), 400, 0, "a b c"},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := newList(t, c.script, Options{}, "a", "b", "c")
			for _, l.ClientMode = range []regions.RegionFailure{regions.Fail, regions.Partial} {
				if l.ClientMode == regions.Partial && !strings.Contains(c.targets, "a b c") {
					continue // there is something to be shown
				}
				fault := l.fault()
				var targets []string
				for _, d := range fault.Details {
					targets = append(targets, d.Target)
				}
				if fault.Status != c.status || fault.RetryAfter != c.after || strings.Join(targets, " ") != c.targets {
					t.Errorf("got %d after %v, details %+v", fault.Status, fault.RetryAfter, fault.Details)
				}
			}
		})
	}
}

// A region that recovers is asked again when the others have answered.
func TestFailedRegionsAreRetriedLast(t *testing.T) {
	s := (&scriptedReader{}).respond("b", query, 200, `{"value":[2]}`)
	var mu sync.Mutex
	tries := 0
	s.answers("a", query, func(context.Context) (upstream.Answer, error) {
		mu.Lock()
		defer mu.Unlock()
		if tries++; tries == 1 {
			return upstream.Answer{Status: 500}, nil
		}
		return upstream.Answer{Status: 200, Body: []byte(`{"value":[1]}`)}, nil
	})
	if text, _ := newList(t, s, Options{}, "a", "b").mustNext(); text != `{"value":[1,2]}` {
		t.Errorf("got %s", text)
	}
	if s.calls[0].IsRetry || s.calls[1].IsRetry || !s.calls[2].IsRetry || s.calls[2].Endpoint.Region != "a" {
		t.Errorf("got %+v", s.calls)
	}
	// If the retry budget is used up, the first fault is returned.
	s.fails("a", query, &upstream.Fault{Err: errors.New("down")})
	l := newList(t, readerFunc(func(ctx context.Context, call upstream.Call) (upstream.Answer, error) {
		if call.IsRetry {
			return upstream.Answer{}, &upstream.Fault{Err: upstream.ErrOverBudget}
		}
		return s.Read(ctx, call)
	}), Options{}, "a", "b")
	if fault := l.fault(); len(fault.Details) != 1 || fault.Details[0].Code != arm.BadGatewayConnection {
		t.Errorf("got %+v", fault)
	}
}

type readerFunc func(context.Context, upstream.Call) (upstream.Answer, error)

func (r readerFunc) Read(ctx context.Context, call upstream.Call) (upstream.Answer, error) {
	return r(ctx, call)
}

// A walk of which a region was given up stays without it, and says so to its
// end.
func TestPartialListNamesMissingRegions(t *testing.T) {
	s := (&scriptedReader{}).
		respond("a", query, 200, `{"value":[1],"nextLink":"?t=2"}`).respond("a", "t=2", 200, `{"value":[2],"nextLink":"?t=3"}`).respond("a", "t=3", 200, `{"value":[3]}`).
		respond("b", query, 500, "").
		respond("c", query, 200, `{"value":[],"nextLink":"?t=2"}`).respond("c", "t=2", 500, "")
	l := newList(t, s, Options{}, "a", "b", "c")
	l.ConfigMode = regions.Partial
	text, page := l.mustNext()
	if !strings.HasPrefix(text, `{"value":[1],"nextLink"`) || page.Complete || page.Unreachable != nil {
		t.Errorf("got %s %+v", text, page)
	}
	l.ConfigMode = regions.Fail // the walk goes on as it began
	if text, page = l.mustNext(); !strings.HasPrefix(text, `{"value":[2],"nextLink"`) || page.Complete {
		t.Errorf("got %s %+v", text, page)
	}
	s.requested()
	if text, page = l.mustNext(); text != `{"value":[3],"unreachable":["b","c"]}` || page.Complete || s.requested() != "a?t=3" {
		t.Errorf("got %s %+v", text, page)
	}
}

// The client's word counts for more than the setting, on every page.
func TestClientModeOverridesConfigMode(t *testing.T) {
	s := (&scriptedReader{}).respond("a", query, 200, `{"value":[1],"nextLink":"?t=2"}`).respond("a", "t=2", 500, "").respond("b", query, 500, "")
	l := newList(t, s, Options{}, "a", "b")
	for _, c := range []struct {
		query, setting regions.RegionFailure
		partial        bool
	}{
		{regions.Inherit, regions.Fail, false}, {regions.Inherit, regions.Partial, true},
		{regions.Fail, regions.Partial, false}, {regions.Partial, regions.Fail, true},
	} {
		l.ClientMode, l.ConfigMode = c.query, c.setting
		again := l.Query
		if text, _, fault := l.next(); (fault == nil) != c.partial {
			t.Errorf("%v: %s, %v", c, text, fault)
		}
		l.Query = again
	}
	l.ClientMode = regions.Partial
	l.mustNext()
	l.ClientMode = regions.Fail
	if fault := l.fault(); fault.Status != 503 || len(fault.Details) != 1 || fault.Details[0].Target != "a" {
		t.Errorf("got %+v", fault)
	}
}

// Regions are asked at once, and a client who goes ends them all.
func TestPageEndsWithItsClient(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	s := &scriptedReader{}
	var called sync.WaitGroup
	names := []string{"a", "b", "c"}
	called.Add(len(names))
	for _, name := range names {
		s.answers(name, query, func(ctx context.Context) (upstream.Answer, error) {
			called.Done()
			<-ctx.Done()
			return upstream.Answer{}, &upstream.Fault{Sent: true, Err: ctx.Err()}
		})
	}
	go func() {
		called.Wait() // all of them are under way
		cancel()
	}()
	l := newList(t, s, Options{}, names...)
	l.ReceivedAt = time.Now()
	if _, err := l.Page(ctx, l.Request); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

// A region that hangs is given up while time remains to write an error.
func TestPageHasTimeLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := (&scriptedReader{}).respond("a", query, 200, `{"value":[]}`)
		s.answers("b", query, func(ctx context.Context) (upstream.Answer, error) {
			<-ctx.Done()
			return upstream.Answer{}, &upstream.Fault{Sent: true, Err: ctx.Err()}
		})
		l := newList(t, s, Options{Timeout: 300 * time.Millisecond}, "a", "b")
		if fault := l.fault(); fault.Status != http.StatusGatewayTimeout || strings.Count(s.requested(), "b?") != 2 {
			t.Errorf("got %+v", fault)
		}
	})
}

// More regions than are asked at once are all asked.
func TestManyRegions(t *testing.T) {
	s := &scriptedReader{}
	var names []string
	for i := range 3 * maxConcurrentRegions {
		name := fmt.Sprintf("r%03d", i)
		names = append(names, name)
		s.respond(name, query, 200, `{"value":[{"id":"/`+name+`"}]}`)
	}
	if text, page := newList(t, s, Options{}, names...).mustNext(); page.Count != len(names) || !strings.HasSuffix(text, `{"id":"/`+names[len(names)-1]+`"}]}`) {
		t.Errorf("got %d elements: %s", page.Count, text)
	}
}

package fanout

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"portico/arm"
	"portico/limits"
	"portico/regions"
	"portico/routing"
	"portico/upstream"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// scripted answers by region and query. What it does not know is a 400.
type scriptedReader struct {
	mu    sync.Mutex
	pages map[string]map[string]func(context.Context) (upstream.Answer, error)
	calls []upstream.Call
}

func (s *scriptedReader) Read(ctx context.Context, call upstream.Call) (upstream.Answer, error) {
	s.mu.Lock()
	s.calls = append(s.calls, call)
	answer := s.pages[call.Endpoint.Region][call.Query]
	s.mu.Unlock()
	if answer == nil {
		return upstream.Answer{Status: http.StatusBadRequest}, nil
	}
	got, err := answer(ctx)
	if err == nil && call.Reserve != nil {
		if err := call.Reserve(ctx, int64(len(got.Body))); err != nil {
			return upstream.Answer{}, &upstream.Fault{Sent: true, Err: err}
		}
	}
	if err == nil && call.Buffer != nil {
		body := call.Buffer(int64(len(got.Body)))
		copy(body, got.Body)
		got.Body = body
	}
	return got, err
}

func (s *scriptedReader) answers(region, query string, answer func(context.Context) (upstream.Answer, error)) *scriptedReader {
	s.mu.Lock()
	defer s.mu.Unlock()
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
func (s *scriptedReader) respond(region, query string, status int, body string, header ...string) *scriptedReader {
	h := http.Header{}
	for i := 0; i+1 < len(header); i += 2 {
		h.Set(header[i], header[i+1])
	}
	return s.answers(region, query, func(context.Context) (upstream.Answer, error) {
		return upstream.Answer{Status: status, Header: h, Body: []byte(body)}, nil
	})
}

func (s *scriptedReader) fails(region, query string, err error) *scriptedReader {
	return s.answers(region, query, func(context.Context) (upstream.Answer, error) { return upstream.Answer{}, err })
}

// requested lists the calls since the last time, as region?query, sorted.
func (s *scriptedReader) requested() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []string
	for _, call := range s.calls {
		all = append(all, call.Endpoint.Region+"?"+call.Query)
	}
	s.calls = nil
	slices.Sort(all)
	return strings.Join(all, " ")
}

const (
	listed = "/subscriptions/S/resourceGroups/My%20(g)/providers/N.S/things"
	query  = "api-version=v"
)

// walking asks a lister for pages of one list.
type listClient struct {
	*Lister
	t testing.TB
	Request
}

// newList is a list over regions. Options that are not set get what is usual.
func newList(t testing.TB, reader Reader, o Options, names ...string) *listClient {
	t.Helper()
	o.Reader, o.Public = reader, parseURL(t, "https://public.example")
	if o.Keys == nil {
		o.Keys = NewRandomKeys()
	}
	if o.Budget == nil {
		o.Budget = limits.NewMemory(256<<20, 256<<20, nil)
	}
	if o.Memory == 0 {
		o.Memory = 32 << 20
	}
	if o.PageSize == 0 {
		o.PageSize = 8 << 20
	}
	if o.Timeout == 0 {
		o.Timeout = 20 * time.Second
	}
	if o.TokenLifetime == 0 {
		o.TokenLifetime = time.Hour
	}
	l := &listClient{NewLister(o), t, Request{Namespace: "N.S", Header: http.Header{"X-Own": {"1"}}}}
	endpoints := map[string]*regions.Endpoint{}
	for _, name := range names {
		endpoints[name] = &regions.Endpoint{Region: name, URLs: []*url.URL{parseURL(t, "https://"+name+".example")}}
		l.Endpoints = append(l.Endpoints, endpoints[name])
	}
	l.Endpoint = func(region string) *regions.Endpoint { return endpoints[region] }
	l.open("https://public.example" + listed + "?" + query)
	return l
}

// at goes to a link, which must be on the public host.
func (l *listClient) open(link string) {
	l.t.Helper()
	target := parseURL(l.t, link)
	if target.Scheme != "https" || target.Host != "public.example" {
		l.t.Fatalf("the link %s leads elsewhere", link)
	}
	must(l.t, l.Path.Parse(target.EscapedPath()))
	l.Query = routing.Query{Raw: target.RawQuery}
}

// next asks for the page and goes on to the one behind it. It returns the
// page's text.
func (l *listClient) next() (string, *MergedPage, *arm.Error) {
	l.t.Helper()
	l.ReceivedAt = time.Now()
	page, err := l.Page(context.Background(), l.Request)
	if err != nil {
		var fault *arm.Error
		if !errors.As(err, &fault) {
			l.t.Fatalf("got %v, want an *arm.Error", err)
		}
		return "", nil, fault
	}
	defer page.Release()
	var b strings.Builder
	n, err := page.WriteTo(&b)
	if err != nil || n != page.Size() || n != int64(b.Len()) {
		l.t.Fatalf("%d of %d bytes, %v", n, page.Size(), err)
	}
	if page.NextLink != "" {
		l.open(page.NextLink)
	}
	return b.String(), page, nil
}

// must is next for a page that there must be.
func (l *listClient) mustNext() (string, *MergedPage) {
	l.t.Helper()
	text, page, fault := l.next()
	if fault != nil {
		l.t.Fatalf("got %v: %+v", fault, fault.Details)
	}
	return text, page
}

// fault is next for a page that must fail.
func (l *listClient) fault() *arm.Error {
	l.t.Helper()
	text, _, fault := l.next()
	if fault == nil {
		l.t.Fatalf("got %s, want a failure", text)
	}
	return fault
}

// must ends the test where a step fails that it only needs.
func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

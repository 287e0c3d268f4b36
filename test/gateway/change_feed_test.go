package gateway_test

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"portico/inventory"
)

// changes reads one page of the feed.
func (s *site) changes(query string) changePage {
	s.t.Helper()
	return decode[changePage](s.t, s.request(200, "", "GET", "/admin/changes?"+query, ""))
}

// subjects are what all pages are about, from a token to the end.
func (s *site) subjects(query, after string) (all []string, pages int) {
	s.t.Helper()
	for ; pages < 1000; pages++ {
		page := s.changes(query + "&after=" + after)
		for _, e := range page.Value {
			all = append(all, e.Subject)
		}
		if page.Next == after {
			return all, pages
		}
		after = page.Next
	}
	s.t.Fatal("the feed does not end")
	return nil, 0
}

// follow opens a stream of the feed, and returns its lines, until it ends.
func (s *site) follow(ctx context.Context, query string, header ...string) (status int, lines <-chan string) {
	s.t.Helper()
	return s.followBy(ctx, http.DefaultClient, query, header...)
}

func (s *site) followBy(ctx context.Context, client *http.Client, query string, header ...string) (status int, lines <-chan string) {
	s.t.Helper()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, s.admin.URL+"/admin/changes?"+query, http.NoBody)
	must(s.t, err)
	r.Header.Set("Accept", "text/event-stream")
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	answer, err := client.Do(r) //nolint:bodyclose // the goroutine closes it
	must(s.t, err)
	reported := make(chan string, 1000)
	go func() {
		defer close(reported)
		defer answer.Body.Close()
		for scanned := bufio.NewScanner(answer.Body); scanned.Scan(); {
			reported <- scanned.Text()
		}
	}()
	return answer.StatusCode, reported
}

// next is the value of the next line of a field.
func next(t *testing.T, lines <-chan string, field string) string {
	t.Helper()
	for bound := time.After(30 * time.Second); ; {
		select {
		case line, more := <-lines:
			if !more {
				t.Fatalf("the stream ended before a line of %s", field)
			}
			if value, is := strings.CutPrefix(line, field+": "); is {
				return value
			}
		case <-bound:
			t.Fatalf("no line of %s came", field)
		}
	}
}

// A reader that begins at now is told of what comes, by pages and by a stream; also if
// that breaks off before anything has come.
func TestChangeFeedFromNow(t *testing.T) {
	s := newSite(t, setup{})
	s.group("g")
	now := s.changes("after=latest")
	if len(now.Value) != 0 {
		t.Errorf("%+v", now)
	}
	ctx, cancel := context.WithCancel(t.Context())
	_, lines := s.follow(ctx, "after=latest")
	id := next(t, lines, "id")
	cancel()
	s.group("h")
	if got, _ := s.subjects("", now.Next); !slices.Equal(got, []string{groupPath("h")}) {
		t.Errorf("%q", got)
	}
	_, lines = s.follow(t.Context(), "after=latest", "Last-Event-ID", id)
	if got := next(t, lines, "data"); !strings.Contains(got, groupPath("h")) {
		t.Errorf("%s", got)
	}
}

// A reader that asks for the last ones gets them in their order, with the token behind
// them, and all that there are if these are fewer.
func TestChangeFeedOfTheLast(t *testing.T) {
	s := newSite(t, setup{})
	all, _ := s.subjects("", "")
	for _, name := range []string{"g", "h", "i"} {
		s.group(name)
		all = append(all, groupPath(name))
	}
	for query, want := range map[string][]string{
		"last=2":         all[len(all)-2:],
		"last=3&limit=1": all[len(all)-3 : len(all)-2],
		"last=1000":      all,
	} {
		var got []string
		page := s.changes(query)
		for _, e := range page.Value {
			got = append(got, e.Subject)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", query, got, want)
		}
		if rest, _ := s.subjects("", page.Next); !slices.Equal(rest, all[slices.Index(all, got[len(got)-1])+1:]) {
			t.Errorf("%s: behind it there is %q", query, rest)
		}
	}
	_, lines := s.follow(t.Context(), "last=1")
	if got := next(t, lines, "data"); !strings.Contains(got, groupPath("i")) {
		t.Errorf("%s", got)
	}
	for _, bad := range []string{"last=0", "last=x", "last=1&after=latest", "last=1&resource=" + groupPath("g")} {
		s.request(400, "InvalidQueryParameter", "GET", "/admin/changes?"+bad, "")
	}
}

// A reader that wants a part of the feed gets on in all of it.
func TestChangeFeedInPart(t *testing.T) {
	s := newSite(t, setup{})
	start := s.changes("after=latest").Next
	s.subscribe(secondSubscription, tenant, inventory.Enabled)
	s.group("g")
	m := s.machine("g", "m", "westus")
	s.ok(200, "DELETE", m+api, "")
	const typ = "type=Microsoft.Resources.Resource"
	for query, want := range map[string][]string{
		"subscription=" + secondSubscription: {"/subscriptions/" + secondSubscription},
		typ + "DeleteSuccess":                {m},
		typ + "DeleteSuccess&" + typ + "WriteSuccess&subscription=" + strings.ToUpper(subscription): {groupPath("g"), m, m},
		typ + "WriteFailure&limit=1": nil,
	} {
		if got, _ := s.subjects(query, start); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", query, got, want)
		}
	}
	_, lines := s.follow(t.Context(), typ+"DeleteSuccess&after="+start)
	if got := next(t, lines, "data"); !strings.Contains(got, m) {
		t.Errorf("%s", got)
	}
	s.request(400, "InvalidQueryParameter", "GET", "/admin/changes?subscription=x", "")
}

// Whoever asks for what is forgotten is told so, and from where on there is more. So is who
// comes with a token of a store that has been restored since.
func TestChangeFeedForgets(t *testing.T) {
	s := newSite(t, setup{})
	s.group("g")
	start := s.changes("limit=1").Next
	s.clock.advance(s.config.Events.Retention + hour)
	if _, err := s.store.Events.Forget(t.Context(), 1000); err != nil {
		t.Fatal(err)
	}
	s.group("h")
	left := []string{groupPath("h")}
	if reported, _ := s.subjects("", ""); !slices.Equal(reported, left) {
		t.Errorf("what is kept begins with %q", reported)
	}
	another := strings.Replace(s.changes("after=latest").Next, "1.", "1.a", 1)
	for _, token := range []string{start, another} {
		got := s.request(410, "InvalidQueryParameter", "GET", "/admin/changes?after="+token, "")
		words := strings.Fields(decode[struct{ Error struct{ Message string } }](t, got).Error.Message)
		begin := strings.Trim(words[len(words)-1], "'.")
		if reported, _ := s.subjects("", begin); !slices.Equal(reported, left) {
			t.Errorf("from %s on there is %q", begin, reported)
		}
		if status, _ := s.follow(t.Context(), "after="+token); status != 410 {
			t.Errorf("a stream is answered with %d", status)
		}
	}
}

// What is forgotten while a page is read ends the page: it is told to whoever asks for what
// comes next, not to a reader who named no place.
func TestChangeFeedForgetsBehindAReader(t *testing.T) {
	s := newSite(t, setup{})
	name := inSubscription + "/tagNames/n"
	s.ok(201, "PUT", name+own, "")
	const values, rounds = 600, 2 // a page is read by 100
	for round := range rounds {
		for i := range values {
			s.ok(201, "PUT", fmt.Sprintf("%s/tagValues/%d-%d%s", name, round, i, own), "")
		}
		s.clock.advance(s.config.Events.Retention + hour)
		ended := make(chan error, 1)
		go func() {
			_, err := s.store.Events.Forget(t.Context(), values-50)
			ended <- err
		}()
		for forgetting := true; forgetting; s.changes("limit=1000") {
			select {
			case err := <-ended:
				if err != nil {
					t.Error(err)
				}
				forgetting = false
			default:
			}
		}
	}
}

// Readers that wait have so many places, of one address fewer, and hold up no one else.
func TestChangeFeedHasPlaces(t *testing.T) {
	s := newSite(t, setup{})
	s.group("g")
	const addresses, each = 4, 16
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	from := func(ctx context.Context, i int) (status int, lines <-chan string) {
		dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, byte(i))}}
		client := &http.Client{Transport: &http.Transport{DialContext: dialer.DialContext, DisableKeepAlives: true}}
		return s.followBy(ctx, client, "")
	}
	var streams []<-chan string
	for i := range addresses {
		for n := range each {
			status, lines := from(ctx, i+1)
			if status != 200 {
				t.Fatalf("stream %d of an address is answered with %d", n, status)
			}
			streams = append(streams, lines)
		}
		if status, _ := from(ctx, i+1); status != 429 {
			t.Errorf("one more of an address is answered with %d", status)
		}
	}
	if status, _ := from(ctx, addresses+1); status != 429 {
		t.Errorf("one more is answered with %d", status)
	}
	refused := s.request(429, "TooManyRequests", "GET", "/admin/changes?wait=1s", "")
	if refused.header.Get("Retry-After") == "" {
		t.Errorf("%v", refused.header)
	}
	s.group("h")
	if all, _ := s.subjects("", ""); !slices.Contains(all, groupPath("h")) {
		t.Errorf("%q", all)
	}
	for _, lines := range streams {
		for !strings.Contains(next(t, lines, "data"), groupPath("h")) {
		}
	}
	cancel()
	s.within("a place to be free again", func() bool { return s.ask("GET", "/admin/changes?wait=1ms", "").status == 200 })
}

// A page has a bounded size, however long what it is about is named.
func TestChangeFeedPagesAreBounded(t *testing.T) {
	s := newSite(t, setup{})
	start := s.changes("after=latest").Next
	name := inSubscription + "/tagNames/" + strings.Repeat("n", 512)
	s.ok(201, "PUT", name+own, "")
	want := []string{name}
	for i := range 500 {
		value := name + "/tagValues/" + fmt.Sprintf("%03d", i) + strings.Repeat("v", 250)
		s.ok(201, "PUT", value+own, "")
		want = append(want, value)
	}
	for after := start; ; {
		page := s.request(200, "", "GET", "/admin/changes?limit=1000&after="+after, "")
		if len(page.text) > 1<<20+8<<10 {
			t.Errorf("a page has %d bytes", len(page.text))
		}
		next := decode[changePage](t, page).Next
		if next == after {
			break
		}
		after = next
	}
	if got, pages := s.subjects("limit=1000", start); !slices.Equal(got, want) || pages < 2 {
		t.Errorf("%d events on %d pages, want %d", len(got), pages, len(want))
	}
}

// A gateway that ends lets no one wait for events.
func TestChangeFeedEndsWithTheGateway(t *testing.T) {
	s := newSite(t, setup{})
	last := url.QueryEscape(s.changes("after=latest").Next)
	_, lines := s.follow(t.Context(), "after="+last)
	next(t, lines, "id")
	waited := make(chan int, 1)
	go func() { waited <- s.ask("GET", "/admin/changes?wait=60s&after="+last, "").status }()
	s.gateway.Drain()
	bound := time.After(30 * time.Second)
	for open := true; open; {
		select {
		case _, open = <-lines:
		case <-bound:
			t.Fatal("the stream goes on")
		}
	}
	select {
	case status := <-waited:
		if status != 200 {
			t.Errorf("the page is answered with %d", status)
		}
	case <-bound:
		t.Fatal("the page waits on")
	}
}

package fanout

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"portico/arm"
	"portico/limits"
	"portico/regions"
	"portico/upstream"
)

// randomProvider is what regions hold, page by page; it answers as a provider does whose
// skip token is the place of the next element.
type randomProvider struct {
	size  int                 // of a page; $top makes it smaller
	holds map[string][]string // by region: the elements' text
	token func(at int) string // how a place is told; strconv.Itoa by default
	fails func(region string, at int) bool

	mu    sync.Mutex
	calls int
}

func (e *randomProvider) Read(ctx context.Context, call upstream.Call) (upstream.Answer, error) {
	answer, err := e.answer(call)
	if err == nil && call.Reserve != nil {
		if err := call.Reserve(ctx, int64(len(answer.Body))); err != nil {
			return upstream.Answer{}, &upstream.Fault{Sent: true, Err: err}
		}
	}
	return answer, err
}

func (e *randomProvider) answer(call upstream.Call) (upstream.Answer, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.calls++
	q, err := url.ParseQuery(call.Query)
	if err != nil || q.Get("api-version") != "v" {
		return upstream.Answer{Status: 400}, nil
	}
	begin := 0
	if token := q.Get("$skipToken"); token != "" {
		token, _, _ = strings.Cut(token, ".")
		if begin, err = strconv.Atoi(token); err != nil {
			return upstream.Answer{Status: 400}, nil
		}
	}
	if e.fails != nil && e.fails(call.Endpoint.Region, begin) {
		return upstream.Answer{Status: 500}, nil
	}
	size := e.size
	if top := q.Get("$top"); top != "" {
		n, _ := strconv.Atoi(top)
		size = min(size, n)
	}
	all := e.holds[call.Endpoint.Region]
	end := min(len(all), begin+size)
	link := ""
	if end < len(all) {
		q.Set("$skipToken", strconv.Itoa(end))
		if e.token != nil {
			q.Set("$skipToken", e.token(end))
		}
		link = `,"nextLink":` + quoted("https://public.example"+call.Path+"?"+q.Encode())
	}
	text := []byte(`{"value":[` + strings.Join(all[begin:end], ",") + `]` + link + `}`)
	return upstream.Answer{Status: 200, Body: text}, nil
}

// fill gives each region so many elements of so many bytes.
func (e *randomProvider) fill(names []string, n, size int) []string {
	e.holds = map[string][]string{}
	var all []string
	for _, name := range names {
		for i := range n {
			element := fmt.Sprintf(`{"id":"/%s/%d","fill":"`, name, i)
			element += strings.Repeat("x", max(0, size-len(element)-2)) + `"}`
			e.holds[name] = append(e.holds[name], element)
		}
		all = append(all, e.holds[name]...)
	}
	slices.Sort(all)
	return all
}

// pageOf reads a page's elements.
func pageOf(t rapid.TB, text string) []string {
	var page struct{ Value []json.RawMessage }
	if err := json.Unmarshal([]byte(text), &page); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	var all []string
	for _, element := range page.Value {
		all = append(all, string(element))
	}
	return all
}

// readAll reads a list to its end and returns the sizes of its pages.
func (l *listClient) readAll(want []string) (sizes []int) {
	l.t.Helper()
	var all []string
	for {
		text, page := l.mustNext()
		elements := pageOf(l.t, text)
		all = append(all, elements...)
		if sizes = append(sizes, page.Count); page.Count != len(elements) || len(sizes) > 10_000 {
			l.t.Fatalf("%d elements, or pages without end: %d", len(elements), len(sizes))
		}
		if page.NextLink == "" {
			slices.Sort(all)
			if !slices.Equal(all, want) {
				l.t.Errorf("%d elements, want %d", len(all), len(want))
			}
			return sizes
		}
	}
}

var eight = []string{"a", "b", "c", "d", "e", "f", "g", "h"}

func (l *listClient) with(parameter string) *listClient {
	l.open("https://public.example" + listed + "?" + query + parameter)
	return l
}

// $top is the size of a page, made of one region after the other; a page that a
// provider makes larger passes whole.
func TestTopBoundsThePage(t *testing.T) {
	e := &randomProvider{size: 4}
	want := e.fill(eight, 10, 0)
	for top, pages := range map[int][]int{
		1: slices.Repeat([]int{1}, 80),
		// 3, 3, 3 and the rest of the region, filled up from the next one.
		3: {3, 3, 3, 1 + 2, 3, 3, 2 + 1, 3, 3, 3, 3, 3, 3, 1 + 2, 3, 3, 2 + 1, 3, 3, 3, 3, 3, 3, 1 + 2, 3, 3, 2},
	} {
		if got := newList(t, e, Options{}, eight...).with("&%24top=" + strconv.Itoa(top)).readAll(want); !slices.Equal(got, pages) {
			t.Errorf("$top=%d: %v", top, got)
		}
	}
	if got := newList(t, e, Options{}, eight...).with("&$TOP=1000").readAll(want); !slices.Equal(got, []int{4, 4, 6, 4, 6, 4, 6, 4, 6, 4, 6, 4, 6, 4, 6, 4, 2}) {
		t.Errorf("%v", got) // a page ends where a region goes on
	}
	for _, wrong := range []string{"0", "-1", "x", "", "1.5", "99999999999999999999"} {
		if fault := newList(t, e, Options{}, eight...).with("&$top=" + wrong).fault(); fault.Status != 400 || fault.Code != arm.InvalidQueryParameter {
			t.Errorf("$top=%s: %+v", wrong, fault)
		}
	}
	s := (&scriptedReader{}).respond("a", query+"&$top=1", 200, `{"value":[1,2,3],"nextLink":"?t=2"}`).respond("a", "t=2", 200, `{"value":[4,5]}`)
	l := newList(t, s, Options{}, "a", "b").with("&$top=1")
	if text, _ := l.mustNext(); !strings.HasPrefix(text, `{"value":[1,2,3],"nextLink"`) || s.requested() != "a?"+query+"&$top=1" {
		t.Errorf("got %s", text)
	}
	if text, _ := l.mustNext(); !strings.HasPrefix(text, `{"value":[4,5],"nextLink"`) {
		t.Errorf("got %s", text)
	}
}

// Of a page of a given size, a region that fails is put off until the others
// have nothing left.
func TestTopPostponesFailedRegions(t *testing.T) {
	e := &randomProvider{size: 4}
	want := e.fill([]string{"a", "b", "c"}, 4, 0)
	down := true
	e.fails = func(region string, _ int) bool { return down && region == "a" }
	l := newList(t, e, Options{}, "a", "b", "c").with("&$top=4")
	var all []string
	for range 2 {
		text, _ := l.mustNext()
		all = append(all, pageOf(t, text)...)
	}
	if fault := l.fault(); fault.Status != 503 || len(fault.Details) != 1 || fault.Details[0].Target != "a" {
		t.Errorf("got %+v", fault)
	}
	down = false
	text, page := l.mustNext()
	if all = append(all, pageOf(t, text)...); page.NextLink != "" || !slices.Equal(slices.Sorted(slices.Values(all)), want) {
		t.Errorf("got %q", all)
	}
}

// What a list holds is bounded, however much there is: regions whose pages do not
// fit wait for a later page, and are not asked in vain again.
func TestListStaysWithinItsMemory(t *testing.T) {
	e := &randomProvider{size: 10}
	want := e.fill(eight, 30, 1<<10) // pages of 10 KiB and 800 bytes for their elements
	const page = 10<<10 + 1000
	for fits, most := range map[int]int{1: 24, 2: 12, 3: 9, 8: 3} {
		e.calls = 0
		budget := limits.NewMemory(1<<30, 1<<30, nil)
		l := newList(t, e, Options{Memory: int64(fits)*page - limits.MemorySlack, PageSize: page, Budget: budget}, eight...)
		sizes := l.readAll(want)
		if slices.Max(sizes) > fits*10 || len(sizes) > 2*most || budget.Free() != 1<<30 {
			t.Errorf("%d pages at once: %v", fits, sizes)
		}
		if e.calls > 24+8+2*len(sizes) {
			t.Errorf("%d pages at once: %d calls for %d", fits, e.calls, len(sizes))
		}
	}
}

// Lists that are walked at the same time share one budget, and all of them end.
func TestListsStayWithinTheSharedMemory(t *testing.T) {
	e := &randomProvider{size: 10}
	want := e.fill(eight, 20, 1<<10)
	const page = 10<<10 + 1000
	budget := limits.NewMemory(4*page-limits.MemorySlack, 4*page-limits.MemorySlack, nil)
	var wait sync.WaitGroup
	for range 8 {
		wait.Go(func() {
			newList(t, e, Options{Memory: 3*page - limits.MemorySlack, PageSize: page, Budget: budget, Timeout: time.Minute}, eight...).readAll(want)
		})
	}
	wait.Wait()
	if free := budget.Free(); free != 4*page-limits.MemorySlack {
		t.Errorf("%d free", free)
	}
}

// Where others hold everything, a list waits for a while and is then told to
// come later.
// A panic while a region is asked is the page's, not the process's, and holds
// nothing back.
func TestPanicWhileARegionIsRead(t *testing.T) {
	budget := limits.NewMemory(1<<20, 1<<20, nil)
	s := (&scriptedReader{}).respond("a", query, 200, `{"value":[1]}`).answers("b", query, func(context.Context) (upstream.Answer, error) { panic("inner details") })
	l := newList(t, s, Options{Budget: budget, Memory: 1 << 20, PageSize: 1 << 19}, "a", "b")
	func() {
		defer func() {
			if p, ok := recover().(*limits.Panic); !ok || p.Value != "inner details" {
				t.Errorf("it ended with %v", p)
			}
		}()
		l.mustNext()
	}()
	if free := budget.Free(); free != 1<<20 {
		t.Errorf("%d bytes are free", free)
	}
}

func TestListWithoutMemoryIsBusy(t *testing.T) {
	e := &randomProvider{size: 10}
	e.fill(eight, 1, 1<<10)
	budget := limits.NewMemory(1<<20, 1<<20, nil)
	greedy := budget.Reservation("another", 1<<20)
	must(t, greedy.Grow(context.Background(), 1<<20+limits.MemorySlack))
	l := newList(t, e, Options{Memory: 1 << 20, PageSize: 1 << 20, Budget: budget, Timeout: 200 * time.Millisecond}, eight...)
	l.ClientMode = regions.Partial
	if fault := l.fault(); fault.Status != 503 || fault.Code != arm.ServerBusy || fault.RetryAfter != busyRetry {
		t.Errorf("got %+v", fault)
	}
	greedy.Close()
	if text, _ := l.mustNext(); !strings.Contains(text, "/h/0") {
		t.Errorf("got %s", text)
	}
}

// A caller whose other lists hold its share is told so; the list of another caller,
// for which there is room, is answered.
func TestCallerAtItsShareIsThrottled(t *testing.T) {
	e := &randomProvider{size: 10}
	e.fill(eight, 1, 1<<10)
	budget := limits.NewMemory(4<<20, 1<<20, nil)
	held := budget.Reservation("alice", 1<<20)
	must(t, held.Grow(context.Background(), 1<<20+limits.MemorySlack))
	defer held.Close()
	l := newList(t, e, Options{Memory: 1 << 20, PageSize: 1 << 20, Budget: budget, Timeout: 200 * time.Millisecond}, eight...)
	l.Caller = "alice"
	if fault := l.fault(); fault.Status != 429 || fault.Code != arm.TooManyRequests || fault.RetryAfter != busyRetry {
		t.Errorf("got %+v", fault)
	}
	l.Caller = "bob"
	if text, _ := l.mustNext(); !strings.Contains(text, "/h/0") {
		t.Errorf("got %s", text)
	}
}

// Regions whose next queries would make the token too long are left for later
// pages.
func TestTokenIsBounded(t *testing.T) {
	seed := 0
	e := &randomProvider{size: 5, token: func(at int) string { // under the estate's lock
		seed += 1000
		return strconv.Itoa(at) + "." + noisy(seed, 400)
	}}
	var names []string
	for i := range 32 {
		names = append(names, fmt.Sprintf("region%02d", i))
	}
	want := e.fill(names, 20, 0)
	l := newList(t, e, Options{}, names...)
	pages := 0
	var all []string
	for {
		text, page := l.mustNext()
		pages++
		all = append(all, pageOf(t, text)...)
		token, _ := l.Query.Get(skipToken)
		if len(token) > maxToken || pages == 1 && len(token) > 4<<10 {
			t.Fatalf("a token of %d bytes on page %d", len(token), pages)
		}
		if page.NextLink == "" {
			break
		}
	}
	slices.Sort(all)
	// All at once do not fit: the list is longer than the four pages of a region.
	if !slices.Equal(all, want) || pages < 8 || e.calls > 32*4+32+2*pages {
		t.Errorf("%d elements on %d pages with %d calls", len(all), pages, e.calls)
	}
}

// dense is text of which a token cannot be made shorter.
func dense(n int) string {
	random := rand.New(rand.NewPCG(1, uint64(n))) //nolint:gosec // it is no secret, and the same each time
	text := make([]byte, n)
	for i := range text {
		text[i] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"[random.IntN(64)]
	}
	return string(text)
}

// What a request line carries goes on, region after region. What it does not carry ends the
// list by an error that no client takes for one that passes.
func TestLongLinks(t *testing.T) {
	s := &scriptedReader{}
	var want []string
	for _, region := range []string{"a", "b", "c"} {
		from := query
		for i := range 3 {
			element := fmt.Sprintf("%q", region+strconv.Itoa(i))
			want = append(want, element)
			if i == 2 {
				s.respond(region, from, 200, `{"value":[`+element+`]}`)
				break
			}
			next := query + "&$skipToken=" + region + dense(13_000+i)
			s.respond(region, from, 200, `{"value":[`+element+`],"nextLink":"?`+next+`"}`)
			from = next
		}
	}
	l := newList(t, s, Options{}, "a", "b", "c")
	var all []string
	for range 20 {
		text, page := l.mustNext()
		value, _, _ := strings.Cut(strings.TrimPrefix(text, `{"value":[`), "]")
		if value != "" {
			all = append(all, strings.Split(value, ",")...)
		}
		if target := strings.TrimPrefix(page.NextLink, "https://public.example"); len(target) > MaxTarget {
			t.Errorf("a link of %d bytes", len(target))
		}
		if page.NextLink == "" {
			break
		}
	}
	slices.Sort(all)
	if !slices.Equal(all, want) {
		t.Errorf("got %s", all)
	}
}

func TestTooLongLinkFailsTheList(t *testing.T) {
	for _, length := range []int{15_250, 20_000} {
		s := (&scriptedReader{}).respond("a", query, 200, `{"value":[1]}`).
			respond("b", query, 200, `{"value":[2],"nextLink":"?t=`+dense(length)+`"}`)
		l := newList(t, s, Options{}, "a", "b")
		if length < MaxTarget { // the provider's own fits
			if text, _ := l.mustNext(); !strings.HasPrefix(text, `{"value":[1],"nextLink"`) { // b is put off
				t.Errorf("got %s", text)
			}
		}
		s.requested()
		fault := l.fault()
		if fault.Status != 502 || fault.Code != arm.InvalidProviderResponse || !strings.Contains(fault.Message, "in the region 'b' its nextLink is too long: path and query of the client's next request may have 15360 bytes") {
			t.Errorf("%d: got %d %+v", length, fault.Status, fault)
		}
		if asked := s.requested(); strings.Count(asked, "b?") != 1 {
			t.Errorf("%d: asked again: %s", length, asked)
		}
	}
}

// A region for whose query there is no room in the token beside those of others
// is begun when they have ended.
func TestTokenLimitDefersRegions(t *testing.T) {
	next := func(region string, n int) string { return query + "&t=" + noisy(int(region[0])*1000, n) }
	s := &scriptedReader{}
	for region, n := range map[string]int{"a": 4150, "b": 5200, "c": 1450} {
		s.respond(region, query, 200, fmt.Sprintf(`{"value":["%s1"],"nextLink":"?%s"}`, region, next(region, n)))
		s.respond(region, next(region, n), 200, fmt.Sprintf(`{"value":["%s2"]}`, region))
	}
	l := newList(t, s, Options{}, "a", "b", "c")
	var pages []string
	for range 10 {
		text, page := l.mustNext()
		value, _, _ := strings.Cut(text, "]")
		pages = append(pages, strings.TrimPrefix(value, `{"value":[`))
		if page.NextLink == "" {
			break
		}
	}
	if got := strings.Join(pages, " "); got != `"a1","c1" "a2"  "c2" "b1" "b2"` {
		t.Errorf("got %s", got)
	}
}

// A region that a partial list gives up makes no token longer: one that is long
// for another region's sake goes on.
func TestLongTokenOutlivesAFailure(t *testing.T) {
	far := query + "&t=" + noisy(0, 8000)
	s := (&scriptedReader{}).respond("a", query+"&t=1", 503, "").respond("b", far, 200, `{"value":[2]}`)
	l := newList(t, s, Options{}, "a", "b")
	w := &cursor{issued: time.Now(), partial: true, anyAnswered: true, width: 1, regions: []*regionCursor{
		{name: "a", state: inProgress, pagesRead: 1, query: query + "&t=1"}, {name: "b", state: inProgress, pagesRead: 1, query: far},
	}}
	own := ownQueryOf(l.Query)
	token := l.options.Keys.seal(w.encode(own), own.digest(l.Path), "")
	if len(token) <= tokenTarget || len(token) > maxToken {
		t.Fatalf("a token of %d bytes", len(token))
	}
	l.open("https://public.example" + listed + "?" + query + "&$skipToken=" + token)
	if text, page := l.mustNext(); !strings.HasPrefix(text, `{"value":[],"nextLink"`) || page.Complete {
		t.Errorf("got %s", text)
	}
	if text, _ := l.mustNext(); text != `{"value":[2],"unreachable":["a"]}` {
		t.Errorf("got %s", text)
	}
}

// noisy is text that cannot be packed.
func noisy(seed, n int) string {
	var b strings.Builder
	for i := seed; b.Len() < n; i++ {
		fmt.Fprintf(&b, "%08x", uint32(i+1)*2654435761)
	}
	return b.String()[:n]
}

// However elements are spread over regions and pages, whatever $top is asked
// for, whichever regions fail and heal, through whichever replica: a list is the
// union, each id once on a page, byte for byte; or it is an error.
func TestAnyListIsReadCompletely(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		values := rapid.SliceOfN(rapid.SampledFrom([]string{
			`1e400`, `-0.0`, `12345678901234567890`, `"\u003c<\/é"`, `{"z":1,"a":[ 1 , 2]}`, `null`, `"nextLink"`, `{"value":[1]}`,
		}), 0, 60).Draw(r, "values")
		names := eight[:rapid.IntRange(1, 8).Draw(r, "regions")]
		e := &randomProvider{size: rapid.IntRange(1, 9).Draw(r, "page size"), holds: map[string][]string{}}
		var want []string
		for i, value := range values {
			name := rapid.SampledFrom(names).Draw(r, "region")
			element := fmt.Sprintf(`{"v": %s,"id":"/R%d"}`, value, i)
			want = append(want, element)
			e.holds[name] = append(e.holds[name], element)
		}
		slices.Sort(want)

		sick := map[string]int{} // failures to come
		e.fails = func(region string, _ int) bool {
			sick[region]--
			return sick[region] >= 0
		}
		memory := int64(rapid.IntRange(1, 5).Draw(r, "memory")) * 4096
		options := Options{Keys: keysOf(t, "k1", "k2"), Memory: memory - limits.MemorySlack + 4096, PageSize: 4096}
		replicas := []*Lister{newList(t, e, options, names...).Lister, newList(t, e, options, names...).Lister}
		l := newList(t, e, options, names...)
		if top := rapid.IntRange(0, 12).Draw(r, "top"); top > 0 {
			l.with("&$top=" + strconv.Itoa(top))
		}
		partial := rapid.Bool().Draw(r, "partial")
		if partial {
			l.ClientMode = regions.Partial
		}

		var all []string
		for steps := 0; ; steps++ {
			if steps > 2000 {
				r.Fatal("the list does not end")
			}
			if steps < 20 && rapid.Bool().Draw(r, "trouble") {
				sick[rapid.SampledFrom(names).Draw(r, "sick")] = rapid.IntRange(1, 4).Draw(r, "failures")
			}
			l.Lister = replicas[rapid.IntRange(0, 1).Draw(r, "replica")]
			text, page, fault := l.next()
			if fault != nil {
				if fault.Status != 503 || len(fault.Details) == 0 {
					r.Fatalf("%+v", fault)
				}
				continue // the same page once more
			}
			all = append(all, pageOf(r, text)...)
			if page.NextLink != "" {
				continue
			}
			slices.Sort(all)
			if page.Complete != (len(page.Unreachable) == 0) || !partial && !page.Complete {
				r.Fatalf("%+v", page)
			}
			if page.Complete && !slices.Equal(all, want) {
				r.Fatalf("got %q, want %q", all, want)
			}
			// What a partial list has is there, once; what it lacks lies where it
			// says.
			for _, element := range want {
				n := 0
				for _, got := range all {
					if got == element {
						n++
					}
				}
				lacking := slices.ContainsFunc(page.Unreachable, func(name string) bool { return slices.Contains(e.holds[name], element) })
				if n > 1 || n == 0 && !lacking {
					r.Fatalf("%s is there %d times without %q", element, n, page.Unreachable)
				}
			}
			return
		}
	})
}

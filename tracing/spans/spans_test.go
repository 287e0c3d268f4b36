package spans

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	sdk "go.opentelemetry.io/otel/sdk/trace"
)

const (
	sampled   = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	unsampled = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00"
)

// hostile are values of traceparent that are none.
var hostile = []string{
	"", "-", "00", "00-0-0-01", sampled + "-", sampled + "-more", sampled + " ", " " + sampled, "ff" + sampled[2:], strings.ToUpper(sampled),
	"00-00000000000000000000000000000000-b7ad6b7169203331-01", "00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01",
	"00-0af7651916cd43dd8448eb211c80319g-b7ad6b7169203331-01", "00_0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
	"0-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-011", "cc" + sampled[2:] + "x", strings.Repeat("0", 1<<16), "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-0\x00",
	sampled + "," + sampled,
}

func TestParse(t *testing.T) {
	for _, text := range hostile {
		if sc, ok := parseParent(text); ok {
			t.Errorf("%.80q is %v", text, sc)
		}
	}
	for text, want := range map[string]string{
		sampled: sampled, unsampled: unsampled,
		"cc" + sampled[2:]:                          sampled, // of a version to come
		"cc" + sampled[2:] + "-more":                sampled,
		sampled[:53] + "ff":                         sampled, // only what is known of the flags
		sampled[:53] + "02":                         unsampled,
		strings.Replace(sampled, "0af7", "ffff", 1): strings.Replace(sampled, "0af7", "ffff", 1),
	} {
		sc, ok := parseParent(text)
		if got := formatParent(sc); !ok || got != want {
			t.Errorf("%q is read as %q, want %q", text, got, want)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, text := range append(hostile, sampled, unsampled) {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		sc, ok := parseParent(text)
		if !ok {
			return
		}
		again, ok := parseParent(formatParent(sc))
		if !ok || !again.Equal(sc) {
			t.Errorf("%q is read as %v, and then as %v", text, sc, again)
		}
	})
}

// recorded keeps what has ended.
type recorded struct{ all []sdk.ReadOnlySpan }

func (r *recorded) tracer(s Sampling) *Tracer {
	return New(Options{Sampling: s, Ended: func(s sdk.ReadOnlySpan) { r.all = append(r.all, s) }})
}

func headersOf(parent string, state ...string) http.Header {
	h := http.Header{ParentHeader: {parent}}
	if len(state) > 0 {
		h[StateHeader] = state
	}
	return h
}

// A trusted caller decides, within the bound on that; no one else does.
func TestRequestSampling(t *testing.T) {
	var r recorded
	never, always := r.tracer(Sampling{Callers: 3}), r.tracer(Sampling{Share: 1, Callers: 3})
	now := time.Now()
	for name, c := range map[string]struct {
		tracer  *Tracer
		header  http.Header
		trusted bool
		traced  bool
		joined  bool
	}{
		"off":                              {nil, headersOf(sampled), true, false, false},
		"a trusted caller samples":         {never, headersOf(sampled), true, true, true},
		"a trusted caller does not":        {always, headersOf(unsampled), true, false, false},
		"a stranger samples":               {never, headersOf(sampled), false, false, false},
		"a stranger does not":              {always, headersOf(unsampled), false, true, false},
		"a stranger, and the draw":         {always, headersOf(sampled), false, true, false},
		"two parents":                      {always, http.Header{ParentHeader: {sampled, sampled}}, true, true, false},
		"a trusted caller sends no parent": {always, headersOf("nonsense"), true, true, false},
	} {
		s := c.tracer.Request(c.header, c.trusted, now)
		if (s != nil) != c.traced {
			t.Errorf("%s: traced: %t", name, s != nil)
			continue
		}
		if joined := strings.HasPrefix(s.Parent(), sampled[:35]); joined != c.joined {
			t.Errorf("%s: in the caller's trace: %t", name, joined)
		}
		s.End()
	}
	bounded := 0
	for range 100 {
		if s := never.Request(headersOf(sampled), true, now); s != nil {
			bounded++
		}
	}
	if bounded > 3 {
		t.Errorf("%d requests of a caller that samples all, of at most 3 a second", bounded)
	}
}

// The share is kept, also when it is changed.
func TestShare(t *testing.T) {
	var r recorded
	tracer := r.tracer(Sampling{})
	for _, share := range []float64{0, 0.25, 1} {
		tracer.Sample(Sampling{Share: share})
		const n = 4000
		traced := 0
		for range n {
			if tracer.Request(http.Header{}, false, time.Now()) != nil {
				traced++
			}
		}
		if got := float64(traced) / n; got < share-0.05 || got > share+0.05 {
			t.Errorf("a share of %v, want %v", got, share)
		}
	}
}

// A call names its own span as the parent, and passes the caller's state on unchanged, or
// nothing of a malformed one.
func TestStamp(t *testing.T) {
	var r recorded
	tracer := r.tracer(Sampling{Callers: 100})
	long := make([]string, 40)
	for i := range long {
		long[i] = "k" + strings.Repeat("a", i) + "=v"
	}
	for name, c := range map[string]struct {
		sent []string
		want string
	}{
		"none": {nil, ""}, "one": {[]string{"a=1"}, "a=1"}, "two lines": {[]string{"a=1", "b=2"}, "a=1,b=2"}, "malformed": {[]string{"a"}, ""},
		"twice": {[]string{"a=1,a=2"}, ""}, "too many": {[]string{strings.Join(long, ",")}, ""}, "too long": {[]string{"a=" + strings.Repeat("x", 600)}, ""},
		"control characters": {[]string{"a=\x01"}, ""},
	} {
		h := headersOf(sampled, c.sent...)
		request := tracer.Request(h, true, time.Now())
		call := request.StartChild(ProviderCall, "call GET")
		out := http.Header{ParentHeader: {sampled}, StateHeader: {"stays=not"}}
		call.Stamp(out)
		if got := out.Get(ParentHeader); got != call.Parent() || !strings.HasPrefix(got, sampled[:36]) || got == sampled {
			t.Errorf("%s: the parent is %q", name, got)
		}
		if got := strings.Join(out[StateHeader], "|"); got != c.want {
			t.Errorf("%s: the state is %q, want %q", name, got, c.want)
		}
	}
}

// Providers are told of traces what trusted callers say, if it is well formed, and
// nothing of what others say.
func TestPass(t *testing.T) {
	var r recorded
	tracer := r.tracer(Sampling{})
	for name, c := range map[string]struct {
		tracer  *Tracer
		header  http.Header
		trusted bool
		want    http.Header
	}{
		"off":               {nil, headersOf("nonsense", "too"), false, headersOf("nonsense", "too")},
		"trusted":           {tracer, headersOf(unsampled, "a=1", "b=2"), true, headersOf(unsampled, "a=1", "b=2")},
		"a stranger":        {tracer, headersOf(unsampled, "a=1"), false, http.Header{}},
		"a malformed state": {tracer, headersOf(unsampled, "a"), true, headersOf(unsampled)},
		"a state alone":     {tracer, http.Header{StateHeader: {"a=1"}}, true, http.Header{}},
		"nothing":           {tracer, http.Header{"Accept": {"x"}}, true, http.Header{"Accept": {"x"}}},
	} {
		c.tracer.PrepareHeaders(c.header, c.trusted)
		if len(c.header) != len(c.want) || !slices.Equal(c.header[ParentHeader], c.want[ParentHeader]) || !slices.Equal(c.header[StateHeader], c.want[StateHeader]) {
			t.Errorf("%s: %v, want %v", name, c.header, c.want)
		}
	}
	for _, parent := range hostile {
		h := headersOf(parent, "a=1")
		if tracer.PrepareHeaders(h, true); len(h) != 0 {
			t.Errorf("%.80q passes", parent)
		}
	}
}

// An attempt belongs to the trace that began the job for an hour; one that comes later
// has its own, which names the other.
func TestAttempt(t *testing.T) {
	var r recorded
	never, always := r.tracer(Sampling{}), r.tracer(Sampling{Share: 1})
	if s := never.Attempt("job x", "", 0); s != nil {
		t.Error("an attempt is traced that no one asked for")
	}
	if s := never.Attempt("job x", sampled, 2*time.Hour); s != nil {
		t.Error("a late attempt is traced, of a share of nothing")
	}
	if s := never.Attempt("job x", sampled, time.Minute); !strings.HasPrefix(s.Parent(), sampled[:35]) {
		t.Error("an attempt is in another trace than what began the job")
	}
	late := always.Attempt("job x", sampled, 2*time.Hour)
	late.End()
	if strings.HasPrefix(late.Parent(), sampled[:35]) || len(r.all) != 1 || len(r.all[0].Links()) != 1 || r.all[0].Links()[0].SpanContext.TraceID().String() != sampled[3:35] {
		t.Errorf("%v", r.all)
	}
}

// Nothing that is done with a nil span allocates, or breaks.
func TestNilSpan(t *testing.T) {
	ctx, h := context.Background(), http.Header{}
	if n := testing.AllocsPerRun(100, func() {
		inner, s := Begin(ctx, StoreRead, "store read")
		s.Name("x")
		s.Text(Fault, "x")
		s.Number(Tries, 1)
		s.Flag(Sent, true)
		s.Seconds(Queued, time.Second)
		s.Fail("x")
		s.LinkTo(sampled)
		s.Stamp(h)
		s.StartChild(StoreRead, "x").EndAt(time.Time{})
		s.End()
		if inner != ctx || s.Parent()+s.TraceID()+s.ID() != "" || len(h) > 0 {
			t.Error("a nil span is something")
		}
	}); n > 0 {
		t.Errorf("%v allocations", n)
	}
}

// Every kind is described, with the role that its spans have.
func TestKinds(t *testing.T) {
	for k, d := range Kinds() {
		if d.Name == "" || d.Meaning == "" || len(d.Attributes) == 0 || d.Role != Kind(k).role() {
			t.Errorf("%d: %+v", k, d)
		}
	}
}

// A write whose caller gave up goes on with the caller's span.
func TestNotingAfterTheEnd(t *testing.T) {
	r := recorded{}
	tracer := r.tracer(Sampling{Share: 1})
	s := tracer.Request(http.Header{}, false, time.Now())
	s.Number(Tries, 1)
	noting := make(chan struct{})
	go func() {
		defer close(noting)
		for i := range 100 {
			s.Number(Tries, i)
		}
	}()
	s.End()
	<-noting
	if len(r.all) != 1 || len(r.all[0].Attributes()) != 1 {
		t.Errorf("%v", r.all)
	}
}

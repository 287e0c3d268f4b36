package contract

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"math/big"
	"net/http"
	"reflect"
	"strings"
	"testing"
	"time"
)

// atEnd judges what a watch has seen by one of the cases that come last.
func atEnd(t *testing.T, id string, w *watch) (Outcome, []Fault) {
	t.Helper()
	for _, c := range watchCases() {
		if c.ID == id {
			target := Target{Adapter: Straight(map[string]string{"westus": "http://127.0.0.1:1"}), Limits: Limits{}.orDefault(), watch: w}
			s := newScene(t.Context(), target, trial{Case: c}, 1)
			s.play(c)
			outcome, _ := s.outcome()
			return outcome, s.faults
		}
	}
	t.Fatalf("there is no case %s", id)
	return "", nil
}

func answered(status int, body string, header ...string) *Answer {
	a := &Answer{call: call{method: "GET", target: "/a"}, Status: status, Header: http.Header{}, Body: []byte(body), doc: decode([]byte(body))}
	for i := 0; i < len(header); i += 2 {
		a.Header.Set(header[i], header[i+1])
	}
	return a
}

func TestTimeOfAnswers(t *testing.T) {
	for _, row := range []struct {
		took   time.Duration
		missed bool
		want   Outcome
	}{{time.Second, false, Kept}, {time.Minute, false, Kept}, {61 * time.Second, false, Broken}, {75 * time.Second, true, Broken}} {
		w := &watch{}
		w.recordAnswer(answered(200, ""), time.Millisecond)
		if row.missed {
			w.recordTimeout(call{method: "PUT", target: "/slow"}, row.took)
		} else {
			w.recordAnswer(answered(200, ""), row.took)
		}
		w.recordAnswer(answered(200, ""), 2*time.Millisecond)
		if got, faults := atEnd(t, "time/every-answer-within-60-seconds", w); got != row.want {
			t.Errorf("an answer after %s: %s, %+v", row.took, got, faults)
		}
	}
	if got, _ := atEnd(t, "time/every-answer-within-60-seconds", &watch{}); got != LeftOut {
		t.Errorf("a run without calls: %s", got)
	}
}

func TestThrottledAnswers(t *testing.T) {
	const good = `{"error":{"code":"TooManyRequests","message":"Later."}}`
	for _, row := range []struct {
		what         string
		answer       *Answer
		after, error Outcome
	}{
		{"none", answered(200, ""), LeftOut, LeftOut},
		{"whole seconds", answered(429, good, "Retry-After", "7"), Kept, Kept},
		{"a date", answered(503, good, "Retry-After", "Fri, 31 Dec 1999 23:59:59 GMT"), Kept, Kept},
		{"no Retry-After", answered(429, good), Broken, Kept},
		{"half a second", answered(429, good, "Retry-After", "0.5"), Broken, Kept},
		{"less than nothing", answered(503, good, "Retry-After", "-1"), Broken, Kept},
		{"no body", answered(429, "", "Retry-After", "7"), Kept, Broken},
		{"no message", answered(503, `{"error":{"code":"a"}}`, "Retry-After", "7"), Kept, Broken},
	} {
		w := &watch{}
		w.recordAnswer(row.answer, time.Second)
		if got, faults := atEnd(t, "throttle/says-when-to-come-again", w); got != row.after {
			t.Errorf("%s: when to come again: %s, %+v", row.what, got, faults)
		}
		if got, faults := atEnd(t, "throttle/has-an-error", w); got != row.error {
			t.Errorf("%s: the error: %s, %+v", row.what, got, faults)
		}
	}
}

// A provider that does not answer one request keeps the rules of the others: that it is
// late is the fault of one case.
func TestLateAnswerIsOneFault(t *testing.T) {
	d, err := Load([]byte(whole))
	if err != nil {
		t.Fatal(err)
	}
	w := &watch{}
	a := Straight(map[string]string{"westus": "http://127.0.0.1:1", Global: "http://127.0.0.1:1"})
	a.Client.Transport = silent{}
	target := Target{Adapter: a, Description: d, Limits: Limits{Call: time.Millisecond}.orDefault(), watch: w}
	s := newScene(t.Context(), target, trial{on: d.types()[0]}, 1)
	s.play(Case{Run: func(s *Scene) { s.get(s.id) }})
	if got, why := s.outcome(); got != Unreached || why == "" || len(s.obstacles) == 0 {
		t.Errorf("%s %q %+v", got, why, s.faults)
	}
	if w.calls != 1 || !strings.HasPrefix(w.slow, "GET ") || w.slowed != nil {
		t.Errorf("%+v", w)
	}
}

// silent is a way to a provider that does not answer.
type silent struct{}

func (silent) RoundTrip(r *http.Request) (*http.Response, error) {
	<-r.Context().Done()
	return nil, r.Context().Err()
}

func TestParts(t *testing.T) {
	const id = "/subscriptions/aB/resourceGroups/Group/providers/Some.Where/things/Name/providers/Else.Where/marks/Mark/parts/Part"
	for which, want := range map[part]string{
		subscriptionPart: strings.Replace(id, "/aB/", "/Ab/", 1),
		namespacePart:    strings.NewReplacer("Some.Where", "sOME.wHERE", "Else.Where", "eLSE.wHERE").Replace(id),
		typePart:         strings.NewReplacer("things", "THINGS", "marks", "MARKS", "parts", "PARTS").Replace(id),
		namePart:         strings.NewReplacer("/Group", "/gROUP", "/Name", "/nAME", "/Mark", "/mARK", "/Part", "/pART").Replace(id),
		literalPart:      strings.NewReplacer("subscriptions", "SUBSCRIPTIONS", "resourceGroups", "RESOURCEgROUPS", "providers", "PROVIDERS").Replace(id),
	} {
		if got := partsCased(id, which, swapCase); got != want {
			t.Errorf("part %d: %s, want %s", which, got, want)
		}
	}
}

func TestEchoed(t *testing.T) {
	for _, row := range []struct{ body, read, want string }{
		{`{"a":1,"b":{"c":2,"d":3}}`, `{"a":1,"b":{"c":2,"d":3,"e":4},"f":5}`, `{"a":1,"b":{"c":2,"d":3}}`},
		{`{"location":"westus","a":1,"secret":"s"}`, `{"location":"West US","a":2}`, `{"location":"westus"}`},
		{`{"b":{"c":2,"d":3}}`, `{"b":{"c":2}}`, `{"b":{"c":2}}`},
		{`{"b":{"c":2}}`, `{"b":"text"}`, `{}`},
		{`{"a":[1,2]}`, `{"a":[1]}`, `{}`},
	} {
		if got := echoed(decode([]byte(row.body)), decode([]byte(row.read))); !reflect.DeepEqual(got, decode([]byte(row.want))) {
			t.Errorf("of %s in %s: %s, want %s", row.body, row.read, show(got), row.want)
		}
	}
}

func TestRepeats(t *testing.T) {
	envelope := decode([]byte(`{"id":"/x","name":"a","location":"West US","tags":{"k":"v"},"kind":"","properties":{}}`)).(Object)
	for _, row := range []struct {
		name  string
		value any
		want  bool
	}{
		{"name", "a", true}, {"Name", "a", true}, {"name", "b", false}, {"location", "westus", true}, {"location", "eastus", false},
		{"tags", Object{"k": "v"}, true}, {"tags", Object{}, false}, {"kind", "", false}, {"size", "a", false}, {"properties", Object{}, false},
	} {
		if got := repeats(envelope, row.name, row.value); got != row.want {
			t.Errorf("%s: %s: %t", row.name, show(row.value), got)
		}
	}
}

// ownCertificate is a front door's, of no authority.
func ownCertificate(t *testing.T) tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "door"}, NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

// A forged certificate bears the name of the genuine one and none of its signature.
func TestForge(t *testing.T) {
	own := ownCertificate(t)
	genuine, err := x509.ParseCertificate(own.Certificate[0])
	if err != nil {
		t.Fatal(err)
	}
	forged, err := forge(genuine)
	if err != nil {
		t.Fatal(err)
	}
	shown, err := x509.ParseCertificate(forged.Certificate[0])
	if err != nil {
		t.Fatal(err)
	}
	if shown.Subject.String() != genuine.Subject.String() {
		t.Errorf("the subject %s", shown.Subject)
	}
	roots := x509.NewCertPool()
	roots.AddCert(genuine)
	if _, err := shown.Verify(x509.VerifyOptions{Roots: roots, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}}); err == nil {
		t.Error("it is taken for one of the genuine authority")
	}
}

package e2e

import (
	"crypto/hmac"
	"crypto/sha256"
	"crypto/tls"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"portico/test/harness"
)

// hookEvent is what a receiver reads of an event.
type hookEvent struct {
	SpecVersion, ID, Source, Type, Subject, Sequence string
	Time                                             time.Time
	Data                                             struct{ ResourceURI, OperationName, Status string }
}

func (e hookEvent) number() int {
	n, _ := strconv.Atoi(e.Sequence)
	return n
}

// hook is a receiver of webhooks over TLS. It takes nothing that is not signed by its
// secret.
type hook struct {
	URL       string
	Authority string // file
	secret    []byte
	bearer    string
	dir       string

	mu      sync.Mutex
	answer  func(e hookEvent) int // the status; nil: 204
	taken   []hookEvent           // in the order in which they were answered by 2xx
	refused []hookEvent
	wrong   []string // what a receiver must never see
	busy    map[string]bool
	header  http.Header // of the last message
	body    []byte
	server  *http.Server
	address string
	pair    harness.Certificate
}

const hookSecret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"

func newHook(t *testing.T) *hook {
	t.Helper()
	raw, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(hookSecret, "whsec_"))
	harness.OK(t, err)
	h := &hook{secret: raw, dir: t.TempDir(), busy: map[string]bool{}, address: harness.FreeAddress(t)}
	h.pair = harness.NewCertificate(t, h.dir)
	h.Authority, h.URL = h.pair.AuthorityFile, "https://"+h.address+"/in"
	h.start(t)
	t.Cleanup(h.stop)
	return h
}

func (h *hook) start(t *testing.T) {
	t.Helper()
	pair, err := tls.LoadX509KeyPair(h.pair.CertFile, h.pair.KeyFile)
	harness.OK(t, err)
	listener, err := net.Listen("tcp", h.address)
	harness.OK(t, err)
	h.server = &http.Server{Handler: h, ReadHeaderTimeout: time.Minute}
	server := h.server
	go func() {
		_ = server.Serve(tls.NewListener(listener, &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12}))
	}()
}

// stop ends the receiver: it cannot be reached.
func (h *hook) stop() { _ = h.server.Close() }

// answers has the receiver answer by a status for each event; of a batch the worst.
func (h *hook) answers(answer func(e hookEvent) int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.answer = answer
}

func (h *hook) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the sender was killed
	}
	if wrong := h.verify(r, body); wrong != "" {
		h.mu.Lock()
		h.wrong = append(h.wrong, wrong)
		h.mu.Unlock()
		http.Error(w, wrong, http.StatusUnauthorized)
		return
	}
	events, err := readHookEvents(r.Header.Get("Content-Type"), body)
	h.mu.Lock()
	h.header, h.body = r.Header, body
	if err != nil {
		h.wrong = append(h.wrong, err.Error())
	}
	for i, e := range events {
		if h.busy[e.Subject] && (i == 0 || events[i-1].Subject != e.Subject) {
			h.wrong = append(h.wrong, "two messages at a time for "+e.Subject)
		}
		h.busy[e.Subject] = true
	}
	answer := h.answer
	h.mu.Unlock()
	status := http.StatusNoContent
	for _, e := range events {
		if answer != nil {
			status = max(status, answer(e))
		}
	}
	h.mu.Lock()
	for _, e := range events {
		delete(h.busy, e.Subject)
	}
	if status < 300 {
		h.taken = append(h.taken, events...)
	} else {
		h.refused = append(h.refused, events...)
	}
	h.mu.Unlock()
	w.WriteHeader(status)
}

// verify checks a message as the Standard Webhooks say, by code of its own.
func (h *hook) verify(r *http.Request, body []byte) string {
	if h.bearer != "" && r.Header.Get("Authorization") != "Bearer "+h.bearer {
		return "not the token"
	}
	id, stamp := r.Header.Get("webhook-id"), r.Header.Get("webhook-timestamp")
	seconds, err := strconv.ParseInt(stamp, 10, 64)
	if err != nil || time.Since(time.Unix(seconds, 0)).Abs() > 5*time.Minute {
		return "an old message, or one from the future"
	}
	mac := hmac.New(sha256.New, h.secret)
	fmt.Fprintf(mac, "%s.%s.%s", id, stamp, body)
	for signature := range strings.FieldsSeq(r.Header.Get("webhook-signature")) {
		version, text, _ := strings.Cut(signature, ",")
		sum, err := base64.StdEncoding.DecodeString(text)
		if version == "v1" && err == nil && hmac.Equal(sum, mac.Sum(nil)) {
			return ""
		}
	}
	return "not signed by the secret: " + r.Header.Get("webhook-signature")
}

func readHookEvents(contentType string, body []byte) (events []hookEvent, err error) {
	switch {
	case strings.HasPrefix(contentType, "application/cloudevents-batch+json"):
		err = json.Unmarshal(body, &events)
	case strings.HasPrefix(contentType, "application/cloudevents+json"):
		events = make([]hookEvent, 1)
		err = json.Unmarshal(body, &events[0])
	default:
		err = fmt.Errorf("the content is %q", contentType)
	}
	for _, e := range events {
		if e.SpecVersion != "1.0" || e.ID == "" || e.Source == "" || e.Type == "" || e.Time.IsZero() {
			err = fmt.Errorf("no event: %s", body)
		}
	}
	return events, err
}

// got returns the events that were taken.
func (h *hook) got() []hookEvent {
	h.mu.Lock()
	defer h.mu.Unlock()
	return append([]hookEvent(nil), h.taken...)
}

// subjects counts the events that were taken, by the last segment of their subjects.
func (h *hook) subjects() map[string]int {
	counts := map[string]int{}
	for _, e := range h.got() {
		counts[e.Subject[strings.LastIndexByte(e.Subject, '/')+1:]]++
	}
	return counts
}

// wantInOrder holds what was taken to the feed: each event comes, and those of one
// resource first came in their order. To read the feed numbers what is not numbered yet, so
// that the last events may be sent only then.
func (h *hook) wantInOrder(t *testing.T, p *harness.Portico, after string) {
	t.Helper()
	all := feedBehind(t, p, after)
	if len(all) == 0 {
		t.Error("the feed has no event")
	}
	harness.Await(t, hookBound, fmt.Sprintf("the last of %d events", len(all)), func() bool {
		taken := map[string]bool{}
		for _, e := range h.got() {
			taken[e.ID] = true
		}
		return !slices.ContainsFunc(all, func(e hookEvent) bool { return !taken[e.ID] })
	})
	seen, last := map[string]bool{}, map[string]int{}
	for _, e := range h.got() {
		if e.Type == "Portico.Test" {
			continue
		}
		if !seen[e.ID] && e.number() <= last[e.Subject] {
			t.Errorf("%s: event %d first came behind %d", e.Subject, e.number(), last[e.Subject])
		}
		seen[e.ID] = true
		last[e.Subject] = max(last[e.Subject], e.number())
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.wrong) > 0 {
		t.Errorf("the receiver saw %q", h.wrong)
	}
}

// feedBehind reads the change feed behind a token.
func feedBehind(t *testing.T, p *harness.Portico, after string) (all []hookEvent) {
	t.Helper()
	return feedFrom(t, p, after, "")
}

// feedOf reads the change feed of a subscription; empty: of all.
func feedOf(t *testing.T, p *harness.Portico, sub string) []hookEvent {
	t.Helper()
	return feedFrom(t, p, "", sub)
}

func feedFrom(t *testing.T, p *harness.Portico, after, sub string) (all []hookEvent) {
	t.Helper()
	for {
		path := "/admin/changes?limit=1000"
		if sub != "" {
			path += "&subscription=" + sub
		}
		if after != "" {
			path += "&after=" + after
		}
		var page struct {
			Value []hookEvent
			Next  string
		}
		harness.OK(t, json.Unmarshal(p.Admin(t, harness.Request{Path: path}).Want(t, 200).Body, &page))
		if len(page.Value) == 0 {
			return all
		}
		all, after = append(all, page.Value...), page.Next
	}
}

// sink is YAML of a sink for the receiver, with further settings.
func (h *hook) sink(name, further string) string {
	file := filepath.Join(h.dir, "secrets")
	if _, err := os.Stat(file); err != nil {
		_ = os.WriteFile(file, []byte(hookSecret+"\n"), 0o600) // its absence shows
	}
	return fmt.Sprintf("    - {name: %s, url: %q, ca: %q, secretFile: %q, backoff: 20ms, maxBackoff: 200ms, %s}\n", name, h.URL, h.Authority, file, further)
}

// fastIndex has questions asked often, so that tests are short.
const fastIndex = "\nindex: {sendWithin: 1m, askTimeout: 20s, pollFloor: 50ms}\njobs: {lease: 2s}\n"

func withSinks(sinks ...string) string {
	return fastIndex + "events:\n  sinks:\n" + strings.Join(sinks, "")
}

// sinkStatus is what operators see.
type sinkStatus struct {
	Name, State, Host, Owner, After, Failure string
	LagEvents, Retrying, Dead, Status        int
	Delivered, Forgotten                     int
	LastSuccess, LastFailure, AwaySince      *time.Time
	LagSeconds                               float64
	Event                                    *hookEvent
}

func sinkOf(t *testing.T, p *harness.Portico, name string) (s sinkStatus) {
	t.Helper()
	harness.OK(t, json.Unmarshal(p.Admin(t, harness.Request{Path: "/admin/sinks/" + name}).Want(t, 200).Body, &s))
	return s
}

// awaitSink waits until the sink has begun.
func awaitSink(t *testing.T, p *harness.Portico, name string) {
	t.Helper()
	harness.Await(t, hookBound, "the sink to begin", func() bool { return sinkOf(t, p, name).State != "Starting" })
}

const hookBound = 60 * time.Second

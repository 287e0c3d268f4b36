package contract

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Ledger records the objects that the calls of a run create, so that
// [Ledger.Clean] can remove all of them. It records a write before sending
// it, because a write without an answer may have taken effect.
type Ledger struct {
	target Target
	next   http.RoundTripper
	limit  time.Duration // of a write

	cleaning atomic.Bool // nothing is recorded any more
	spare    []string    // paths in lower case, each ending in a slash
	vacant   bool        // lists have shown that the run's groups were empty before

	mu      sync.Mutex
	entries map[string]*entry // by path, in lower case
	groups  map[string]string // the run's groups, by their ids in lower case: their lists show objects that no call named
}

// entry is an object that a run may have created.
type entry struct {
	kind    entryKind
	path    string // as it was sent, escaped
	version string // the api-version
	region  string // whose endpoint was called; "" through a front door
	certain bool   // an answer proves that it was created, or there was no answer
	created bool   // an answer (201) proves that it did not exist before
	poll    string // of an operation that may create it later
	body    []byte // of a notice
	deleted bool   // its DELETE was accepted
}

type entryKind int

const (
	resource entryKind = iota
	resourceGroup
	subscription
)

// Keep starts the ledger of a target, which then sees each call of the target's adapter.
// A started write is finished, for at most the limit, even if the run ends meanwhile: an
// aborted one could take effect after its resource was removed.
func Keep(target Target, limit time.Duration) *Ledger {
	target.Group = cmp.Or(target.Group, usualGroup)
	l := &Ledger{target: target, next: target.Adapter.Client.Transport, limit: limit, entries: map[string]*entry{}, groups: map[string]string{}}
	if l.next == nil {
		l.next = http.DefaultTransport
	}
	target.Adapter.Client.Transport = l
	return l
}

// CloseIdleConnections closes idle connections of the wrapped transport.
func (l *Ledger) CloseIdleConnections() {
	if t, ok := l.next.(interface{ CloseIdleConnections() }); ok {
		t.CloseIdleConnections()
	}
}

// RoundTrip implements http.RoundTripper.
func (l *Ledger) RoundTrip(r *http.Request) (*http.Response, error) { return l.roundTrip(r, l.next) }

// roundTrip makes a call with a transport, and records the object that it may create.
func (l *Ledger) roundTrip(r *http.Request, transport http.RoundTripper) (*http.Response, error) {
	if r.Method == http.MethodGet || r.Method == http.MethodHead || l.cleaning.Load() {
		return transport.RoundTrip(r)
	}
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), l.limit)
	defer cancel()
	noted := l.recordRequest(r)
	resp, err := transport.RoundTrip(r.WithContext(ctx))
	if err == nil {
		err = bufferBody(resp)
	}
	if err != nil {
		l.unanswered(noted)
		return nil, err
	}
	l.answered(noted, resp)
	return resp, nil
}

// maxAnswer bounds the bytes read of an answer.
const maxAnswer = 16 << 20

// bufferBody reads an answer to its end, so that it outlives its call's context.
func bufferBody(resp *http.Response) error {
	text, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	_ = resp.Body.Close() // only read
	resp.Body = io.NopCloser(bytes.NewReader(text))
	return err
}

// recordRequest records the object that a request may create; it returns nil
// if the request creates nothing with a name.
func (l *Ledger) recordRequest(r *http.Request) *entry {
	path := r.URL.EscapedPath()
	if r.Method == http.MethodPost && r.GetBody != nil {
		l.recordMove(r)
	}
	segments := strings.Split(strings.Trim(path, "/"), "/")
	if r.Method != http.MethodPut || !strings.EqualFold(segments[0], "subscriptions") || len(segments) < 2 || len(segments)%2 != 0 {
		return nil
	}
	t := &entry{kind: resource, path: path, version: r.URL.Query().Get("api-version"), region: l.regionOf(r.URL)}
	switch {
	case len(segments) == 2:
		t.kind, t.body = subscription, bodyOf(r)
	case len(segments) == 4 && strings.EqualFold(segments[2], "resourceGroups"):
		t.kind = resourceGroup
	case !strings.Contains(strings.ToLower(path), "/providers/"):
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if group, own := l.ownGroup(path); own {
		l.groups[strings.ToLower(group)] = group
	}
	key := t.region + strings.ToLower(path)
	if known := l.entries[key]; known != nil {
		return known
	}
	l.entries[key] = t
	return t
}

// recordMove records the target group of a move.
func (l *Ledger) recordMove(r *http.Request) {
	var body struct {
		Target string `json:"targetResourceGroup"`
	}
	if json.Unmarshal(bodyOf(r), &body) != nil {
		return
	}
	if group, own := l.ownGroup(body.Target); own {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.groups[strings.ToLower(group)] = group
	}
}

func bodyOf(r *http.Request) []byte {
	if r.GetBody == nil {
		return nil
	}
	body, err := r.GetBody()
	if err != nil {
		return nil
	}
	text, _ := io.ReadAll(body) // bytes in memory
	return text
}

func (l *Ledger) unanswered(t *entry) {
	if t == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	t.certain = true
}

func (l *Ledger) answered(t *entry, resp *http.Response) {
	if t == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if resp.StatusCode < 300 || resp.StatusCode >= 500 {
		t.certain = true
	}
	t.created = t.created || resp.StatusCode == http.StatusCreated
	if resp.StatusCode < 300 {
		t.poll = resp.Header.Get("Azure-AsyncOperation")
		if t.poll == "" {
			t.poll = resp.Header.Get("Location")
		}
	}
}

// regionOf returns the region of a URL's endpoint.
func (l *Ledger) regionOf(u *url.URL) string {
	for region, endpoint := range l.target.Adapter.endpoints {
		if endpoint == u.Scheme+"://"+u.Host {
			return region
		}
	}
	return ""
}

// ownGroup returns the group in a path, and whether it is the run's own: the
// target's group, or one numbered after it.
func (l *Ledger) ownGroup(path string) (group string, own bool) {
	segments := strings.Split(strings.Trim(path, "/"), "/")
	if len(segments) < 4 || !strings.EqualFold(segments[0], "subscriptions") || !strings.EqualFold(segments[2], "resourceGroups") {
		return "", false
	}
	name, err := url.PathUnescape(segments[3])
	if err != nil {
		return "", false
	}
	return "/" + strings.Join(segments[:4], "/"), OwnGroup(l.target.Group, name)
}

// OwnGroup reports whether a group of that name belongs to runs with the
// configured group.
func OwnGroup(configured, name string) bool {
	configured, name = strings.ToLower(configured), strings.ToLower(name)
	number, numbered := strings.CutPrefix(name, configured+"-")
	return configured != "" && (name == configured || numbered && number != "" && number[0] >= '0' && number[0] <= '9')
}

// mayRemove reports whether a thing is the run's own.
func (l *Ledger) mayRemove(t *entry) bool {
	switch t.kind {
	case resourceGroup:
		return t.created
	case subscription:
		return !strings.EqualFold(nameOf(t.path), l.target.Adapter.Subscription)
	case resource:
	}
	_, own := l.ownGroup(t.path)
	return own || t.created
}

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

// Ledger notes the objects that the calls of a run create, so that all of them can be
// removed ([Ledger.Clean]). It notes a write before it leaves, because one without an
// answer may have taken effect all the same.
type Ledger struct {
	target Target
	next   http.RoundTripper
	limit  time.Duration // of a write

	cleaning atomic.Bool // nothing is noted any more
	spare    []string    // paths in lower case, each with a slash behind it
	vacant   bool        // lists have shown that the run's groups held nothing before

	mu      sync.Mutex
	entries map[string]*entry // by path, in lower case
	groups  map[string]string // those of the run, by their ids in lower case: their lists show what no call named
}

// entry is something that a run may have made.
type entry struct {
	kind    entryKind
	path    string // as it was sent, escaped
	version string // the api-version
	region  string // whose endpoint was called; "" through a front door
	certain bool   // an answer says that it was made, or there was none
	created bool   // an answer says that it was not there before: 201
	poll    string // of an operation that may make it later
	body    []byte // of a notice
	deleted bool   // its DELETE was accepted
}

type entryKind int

const (
	resource entryKind = iota
	resourceGroup
	subscription
)

// Keep begins the ledger of a target: from now on it sees each call of the target's
// adapter. A write that has begun is finished, for at most the limit, even if the run ends
// meanwhile: one that is broken off could take effect after its resource was removed.
func Keep(target Target, limit time.Duration) *Ledger {
	target.Group = cmp.Or(target.Group, usualGroup)
	l := &Ledger{target: target, next: target.Adapter.Client.Transport, limit: limit, entries: map[string]*entry{}, groups: map[string]string{}}
	if l.next == nil {
		l.next = http.DefaultTransport
	}
	target.Adapter.Client.Transport = l
	return l
}

// CloseIdleConnections closes those of the client that the ledger stands before.
func (l *Ledger) CloseIdleConnections() {
	if t, ok := l.next.(interface{ CloseIdleConnections() }); ok {
		t.CloseIdleConnections()
	}
}

// RoundTrip implements http.RoundTripper.
func (l *Ledger) RoundTrip(r *http.Request) (*http.Response, error) { return l.over(r, l.next) }

// over makes a call by a transport, and notes what it may make.
func (l *Ledger) over(r *http.Request, transport http.RoundTripper) (*http.Response, error) {
	if r.Method == http.MethodGet || r.Method == http.MethodHead || l.cleaning.Load() {
		return transport.RoundTrip(r)
	}
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), l.limit)
	defer cancel()
	noted := l.note(r)
	resp, err := transport.RoundTrip(r.WithContext(ctx))
	if err == nil {
		err = hold(resp)
	}
	if err != nil {
		l.unanswered(noted)
		return nil, err
	}
	l.answered(noted, resp)
	return resp, nil
}

// maxAnswer is how much of an answer is read.
const maxAnswer = 16 << 20

// hold reads an answer to its end, so that it outlives its call's context.
func hold(resp *http.Response) error {
	text, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	_ = resp.Body.Close() // only read
	resp.Body = io.NopCloser(bytes.NewReader(text))
	return err
}

// note remembers the object that a request may create; nil if it creates nothing with a
// name.
func (l *Ledger) note(r *http.Request) *entry {
	path := r.URL.EscapedPath()
	if r.Method == http.MethodPost && r.GetBody != nil {
		l.noteMove(r)
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

// noteMove remembers the group that resources are moved to.
func (l *Ledger) noteMove(r *http.Request) {
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

// regionOf is the region whose endpoint a URL is at.
func (l *Ledger) regionOf(u *url.URL) string {
	for region, endpoint := range l.target.Adapter.endpoints {
		if endpoint == u.Scheme+"://"+u.Host {
			return region
		}
	}
	return ""
}

// ownGroup is the group that a path lies in, and whether it is the run's
// own: that of the target, or one that is numbered after it.
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

// OwnGroup reports whether a group of that name belongs to runs whose group is the given
// one.
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

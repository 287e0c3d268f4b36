package contract

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/google/uuid"

	"portico/tracing/headers"
)

// Caller is one of the identities that the suite uses.
type Caller int

// Owner and Colleague belong to one tenant, Stranger to another. Passport has
// only a puid, and OtherPassport another puid; both belong to the owner's
// tenant and exist only without a gateway, which does not know such ids.
const (
	Owner Caller = iota
	Colleague
	Stranger
	Passport
	OtherPassport
)

// Identity is a caller's identity in the front door's headers.
type Identity struct {
	TenantID string
	ObjectID string
	PUID     string
	Name     string
}

// Adapter maps the suite's calls to requests: at a provider's own endpoints, with the
// headers that the front door would set, or at a front door.
type Adapter struct {
	// Through reports whether a front door stands between the suite and the provider.
	Through bool
	// Public is the scheme and host that every link in an answer must have.
	Public string
	// Regions are the provider's regions, without "global".
	Regions []string
	// HasGlobal reports whether the provider serves global types.
	HasGlobal bool
	// Subscription is the owner's. Sibling is another one of the same tenant,
	// without registered namespaces.
	Subscription, Sibling string
	// Client makes the calls; it must not follow redirects.
	Client *http.Client

	identities map[Caller]Identity
	endpoints  map[string]string // straight: by region
	tokens     map[Caller]string // through a front door
}

// Straight returns an adapter that calls provider endpoints directly, by region.
func Straight(endpoints map[string]string) *Adapter {
	a := &Adapter{
		Public:       "https://front.contract.example",
		Subscription: uuid.NewString(),
		Sibling:      uuid.NewString(),
		Client:       newClient(),
		endpoints:    endpoints,
		identities:   map[Caller]Identity{},
	}
	for _, region := range slices.Sorted(maps.Keys(endpoints)) {
		if region == Global {
			a.HasGlobal = true
			continue
		}
		a.Regions = append(a.Regions, region)
	}
	tenant := uuid.NewString()
	a.identities[Owner] = Identity{TenantID: tenant, ObjectID: uuid.NewString(), Name: "owner@contract.example"}
	a.identities[Colleague] = Identity{TenantID: tenant, ObjectID: uuid.NewString(), Name: "colleague@contract.example"}
	a.identities[Stranger] = Identity{TenantID: uuid.NewString(), ObjectID: uuid.NewString(), Name: "stranger@contract.example"}
	a.identities[Passport] = Identity{TenantID: tenant, PUID: "10030000A0000001", Name: "passport@contract.example"}
	a.identities[OtherPassport] = Identity{TenantID: tenant, PUID: "10030000A0000002", Name: "other@contract.example"}
	return a
}

// Door describes a front door to the suite.
type Door struct {
	URL       string // the public URL, reachable
	Regions   []string
	HasGlobal bool
	// Subscription and Sibling belong to the tenant of Owner and Colleague.
	Subscription, Sibling string
	// Owner, Colleague and Stranger have a bearer token each; Stranger belongs to another
	// tenant.
	Owner, Colleague, Stranger Token
}

// Token is a bearer token and its bearer's name at the door.
type Token struct{ Raw, Name string }

// ThroughDoor returns an adapter that calls a front door.
func ThroughDoor(d Door) *Adapter {
	return &Adapter{
		Through: true, Public: d.URL, Regions: d.Regions, HasGlobal: d.HasGlobal,
		Subscription: d.Subscription, Sibling: d.Sibling, Client: newClient(),
		identities: map[Caller]Identity{Owner: {Name: d.Owner.Name}, Colleague: {Name: d.Colleague.Name}, Stranger: {Name: d.Stranger.Name}},
		tokens:     map[Caller]string{Owner: d.Owner.Raw, Colleague: d.Colleague.Raw, Stranger: d.Stranger.Raw},
	}
}

func newClient() *http.Client {
	return &http.Client{
		Transport:     &http.Transport{MaxIdleConnsPerHost: 64},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// call is one request in the suite's terms.
type call struct {
	method string
	target string // path and query
	region string // the region whose endpoint is called without a front door
	caller Caller
	body   []byte
	header http.Header

	certificate certificate
	untilClose  bool // what follows the header is read until the connection ends
}

// certificate is the client certificate that a call shows.
type certificate int

const (
	showsOwn certificate = iota // the front door's, if it has one
	showsNone
	showsForged
)

// ids are the ids sent with a request.
type ids struct{ correlation, client, routing string }

// request builds the HTTP request of a call.
func (a *Adapter) request(ctx context.Context, c call) (*http.Request, ids, error) {
	base := a.Public
	if !a.Through {
		base = a.endpoints[c.region]
		if base == "" {
			return nil, ids{}, fmt.Errorf("no endpoint serves %q", c.region)
		}
	}
	r, err := http.NewRequestWithContext(ctx, c.method, base+c.target, bytes.NewReader(c.body))
	if err != nil {
		return nil, ids{}, err
	}
	if len(c.body) > 0 {
		r.Header.Set("Content-Type", "application/json")
	}
	sent := ids{uuid.NewString(), uuid.NewString(), uuid.NewString()}
	r.Header.Set("x-ms-correlation-request-id", sent.correlation)
	r.Header.Set("x-ms-client-request-id", sent.client)
	switch token := a.tokens[c.caller]; {
	case !a.Through:
		a.stamp(r, c, sent)
	case token != "":
		r.Header.Set("Authorization", "Bearer "+token)
	}
	maps.Copy(r.Header, c.header)
	return r, sent, nil
}

// stamp sets the headers that a front door sets (resource reference, the
// common request headers; addendum, Instrumentation and Tracing).
func (a *Adapter) stamp(r *http.Request, c call, sent ids) {
	i := a.identities[c.caller]
	h := r.Header
	h.Set("Referer", headers.Referer(a.Public+c.target))
	h.Set("x-ms-routing-request-id", "WESTUS:20240101T000000Z:"+sent.routing)
	h.Set("x-ms-home-tenant-id", i.TenantID)
	h.Set("x-ms-client-tenant-id", i.TenantID)
	if i.ObjectID != "" {
		h.Set("x-ms-client-object-id", i.ObjectID)
	}
	if i.PUID != "" {
		h.Set("x-ms-client-puid", i.PUID)
	}
	h.Set("x-ms-client-principal-name", i.Name)
	if c.method == http.MethodGet || c.method == http.MethodHead {
		return
	}
	now := time.Now().UTC().Format("2006-01-02T15:04:05.0000000Z")
	data := Object{"lastModifiedBy": i.Name, "lastModifiedByType": "User", "lastModifiedAt": now}
	if c.method == http.MethodPut {
		data["createdBy"], data["createdByType"], data["createdAt"] = i.Name, "User", now
	}
	text, err := json.Marshal(data)
	if err != nil { // strings always have a JSON form
		panic(err)
	}
	h.Set("x-ms-arm-resource-system-data", string(text))
}

// mostBody bounds an answer's body: a provider may send one that does not end.
const mostBody = 64 << 20

// send makes a call and reads its answer.
func (a *Adapter) send(ctx context.Context, c call) (*Answer, error) {
	r, sent, err := a.request(ctx, c)
	if err != nil {
		return nil, err
	}
	resp, err := a.Client.Do(r)
	if err != nil {
		return nil, err
	}
	defer func() { _ = resp.Body.Close() }() // only read
	body, err := io.ReadAll(io.LimitReader(resp.Body, mostBody+1))
	if err != nil {
		return nil, err
	}
	if len(body) > mostBody {
		return nil, fmt.Errorf("the answer, %d, has more than %d MiB", resp.StatusCode, mostBody>>20)
	}
	return &Answer{call: c, ids: sent, sent: r, Status: resp.StatusCode, Header: resp.Header, Body: body}, nil
}

// dial opens a connection to the host of a URL, as the client would.
func (a *Adapter) dial(ctx context.Context, u *url.URL) (net.Conn, error) {
	address := u.Host
	if u.Port() == "" {
		address = net.JoinHostPort(u.Hostname(), map[string]string{"http": "80", "https": "443"}[u.Scheme])
	}
	if u.Scheme != "https" {
		return (&net.Dialer{}).DialContext(ctx, "tcp", address)
	}
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	if t := a.transport(); t != nil && t.TLSClientConfig != nil {
		config = t.TLSClientConfig.Clone()
	}
	config.NextProtos = []string{"http/1.1"}
	return (&tls.Dialer{Config: config}).DialContext(ctx, "tcp", address)
}

// transport returns the transport that makes the connections, also if a
// ledger wraps it; nil if it is of another kind.
func (a *Adapter) transport() *http.Transport {
	inner := a.Client.Transport
	if l, ok := inner.(*Ledger); ok {
		inner = l.next
	}
	t, _ := inner.(*http.Transport)
	return t
}

// withTransport returns an adapter that makes its connections with another
// transport. A ledger sees its calls too.
func (a *Adapter) withTransport(transport *http.Transport) *Adapter {
	adapter, client := *a, *a.Client
	client.Transport = transport
	if l, ok := a.Client.Transport.(*Ledger); ok {
		client.Transport = roundTrip(func(r *http.Request) (*http.Response, error) { return l.roundTrip(r, transport) })
	}
	adapter.Client = &client
	return &adapter
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// prepare registers the namespaces, which only a front door requires, and
// returns the answers.
func (a *Adapter) prepare(ctx context.Context, d *Description) ([]*Answer, error) {
	if !a.Through {
		return nil, nil
	}
	var answers []*Answer
	for _, p := range d.Providers {
		if p.Registration != "required" {
			continue
		}
		path := "/subscriptions/" + a.Subscription + "/providers/" + p.Namespace
		got, err := a.send(ctx, call{method: http.MethodPost, target: path + "/register?api-version=2021-04-01"})
		if err != nil {
			return nil, err
		}
		if got.Status != http.StatusOK {
			return nil, fmt.Errorf("registering %s: %d %s", p.Namespace, got.Status, a.showText(string(got.Body)))
		}
		answers = append(answers, got)
	}
	return answers, nil
}

// putGroup creates a resource group through a front door. Without a front
// door there are no groups to create, and it returns no answers.
func (a *Adapter) putGroup(ctx context.Context, group, region string) ([]*Answer, error) {
	if !a.Through {
		return nil, nil
	}
	got, err := a.send(ctx, call{
		method: http.MethodPut, target: group + "?api-version=2021-04-01",
		body: []byte(`{"location":"` + region + `"}`),
	})
	if err != nil {
		return nil, err
	}
	if got.Status != http.StatusCreated && got.Status != http.StatusOK {
		return nil, fmt.Errorf("making the group: %d %s", got.Status, a.showText(string(got.Body)))
	}
	return []*Answer{got}, nil
}

// serves reports whether the provider has an endpoint for the type.
func (a *Adapter) serves(t *Type) bool {
	if t.global() {
		return a.HasGlobal
	}
	return len(a.Regions) > 0
}

// elsewhere returns a region other than the given one.
func (a *Adapter) elsewhere(region string) string {
	for _, other := range a.Regions {
		if other != region {
			return other
		}
	}
	return "southcentralus"
}

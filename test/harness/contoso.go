package harness

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// ContosoOptions vary a provider endpoint. With the zero value its state is in a file
// of the test's folder, so it survives [Contoso.Kill].
type ContosoOptions struct {
	StateFile string
	Args      []string // further arguments of the program
	// TLS is the certificate of its listener; nil: plain HTTP.
	TLS *Pair
	// Clients signs the certificates that it demands; nil: it demands none.
	Clients *Authority
}

// Contoso is a running reference provider: one regional endpoint, or the global one, of
// both of its namespaces.
type Contoso struct {
	Region string
	URL    string

	address string
	scheme  string
	dir     string
	args    []string
	program string
	process *Process
	client  *http.Client
}

// StartContoso runs a provider endpoint for region until the test ends.
func StartContoso(t testing.TB, region string, options ContosoOptions) *Contoso {
	t.Helper()
	dir := t.TempDir()
	if options.StateFile == "" {
		options.StateFile = filepath.Join(dir, region+".state")
	}
	c := &Contoso{
		Region:  region,
		address: FreeAddress(t),
		dir:     dir,
		program: Build(t).Contoso,
		scheme:  "http://",
	}
	transport := &http.Transport{}
	c.args = append([]string{"--region", region, "--listen", c.address, "--state", options.StateFile}, options.Args...)
	if options.TLS != nil {
		c.scheme = "https://"
		c.args = append(c.args, "--tls-cert", options.TLS.CertFile, "--tls-key", options.TLS.KeyFile)
		transport.TLSClientConfig = &tls.Config{InsecureSkipVerify: true, MinVersion: tls.VersionTLS12} //nolint:gosec // the test's own process
	}
	if options.Clients != nil {
		c.args = append(c.args, "--client-ca", options.Clients.File)
		own := options.Clients.Issue(t, Leaf{Name: "test"})
		transport.TLSClientConfig.Certificates = []tls.Certificate{own.Certificate}
	}
	c.client = newClient(transport)
	c.start(t)
	return c
}

func (c *Contoso) start(t testing.TB) {
	t.Helper()
	c.process = Start(t, "contoso "+c.Region, c.dir, c.program, c.args...)
	t.Cleanup(c.client.CloseIdleConnections)
	prefix := "contoso: serving " + c.Region + " on "
	c.URL = strings.TrimPrefix(c.process.WaitLine(t, prefix), prefix)
	if want := c.scheme + c.address; c.URL != want {
		t.Fatalf("contoso %s serves %s, want %s", c.Region, c.URL, want)
	}
}

// Kill ends the endpoint by SIGKILL.
func (c *Contoso) Kill(t testing.TB) { t.Helper(); c.process.Kill(t) }

// Stop ends the endpoint by SIGTERM and expects it to exit cleanly.
func (c *Contoso) Stop(t testing.TB) { t.Helper(); c.process.Stop(t, syscall.SIGTERM) }

// Restart runs the endpoint again, after [Contoso.Kill] or [Contoso.Stop], on
// the same address with the same state.
func (c *Contoso) Restart(t testing.TB) {
	t.Helper()
	c.client.CloseIdleConnections()
	c.start(t)
}

// Try makes a call of the endpoint itself, bypassing Portico.
func (c *Contoso) Try(t testing.TB, r Request) (Answer, error) {
	return send(t.Context(), c.client, c.URL, "", r)
}

// Call is [Contoso.Try] for any goroutine.
func (c *Contoso) Call(ctx context.Context, r Request) (Answer, error) {
	return send(ctx, c.client, c.URL, "", r)
}

// Do is [Contoso.Try], but a failure ends the test.
func (c *Contoso) Do(t testing.TB, r Request) Answer {
	t.Helper()
	a, err := c.Try(t, r)
	if err != nil {
		t.Fatalf("contoso %s: %v", c.Region, err)
	}
	return a
}

// Received is one request as the provider received it, with path and query unchanged.
type Received struct {
	Time    time.Time   `json:"time"`
	Method  string      `json:"method"`
	Path    string      `json:"path"`
	Query   string      `json:"query"`
	Headers http.Header `json:"headers"`
}

// Requests are the last requests received, oldest first.
func (c *Contoso) Requests(t testing.TB) []Received {
	t.Helper()
	var received []Received
	c.record(t, "/contoso/requests", &received)
	return received
}

// ForgetRequests empties the record of requests.
func (c *Contoso) ForgetRequests(t testing.TB) {
	t.Helper()
	c.Do(t, Request{Method: http.MethodDelete, Path: "/contoso/requests"}).Want(t, 200, 204)
}

// Notifications are the notifications of one subscription.
type Notifications struct {
	// Namespaces and Notices have the latest state and the latest notification of each
	// namespace, in lower case.
	Namespaces map[string]string
	Notices    map[string]Notification
	Journal    []NotificationEntry // in order of arrival
}

// NotificationEntry is one notification in the journal.
type NotificationEntry struct {
	Namespace, State, QuotaID string
	Time                      time.Time
}

// Notification is the content of a notification.
type Notification struct {
	State      string
	Properties struct {
		TenantID, QuotaID  string
		RegisteredFeatures []struct{ Name, State string }
	}
}

// Notifications returns the notifications that the endpoint received, by subscription.
func (c *Contoso) Notifications(t testing.TB) map[string]Notifications {
	t.Helper()
	notifications, err := c.TryNotifications(t.Context())
	OK(t, err)
	return notifications
}

// TryNotifications is [Contoso.Notifications] for any goroutine, and for endpoints that
// may be down.
func (c *Contoso) TryNotifications(ctx context.Context) (map[string]Notifications, error) {
	a, err := c.Call(ctx, Request{Method: http.MethodGet, Path: "/contoso/subscriptions"})
	if err != nil {
		return nil, err
	}
	var notifications struct{ Value map[string]Notifications }
	err = json.Unmarshal(a.Body, &notifications)
	if err == nil && a.Status != http.StatusOK {
		err = fmt.Errorf("status %d", a.Status)
	}
	if err != nil {
		return nil, fmt.Errorf("contoso %s, what it was told: %w; body: %s", c.Region, err, a.Body)
	}
	return notifications.Value, nil
}

// IDs are the ids of all resources of the endpoint, in its own spelling.
func (c *Contoso) IDs(t testing.TB) []string {
	t.Helper()
	var ids []string
	c.record(t, "/contoso/resources", &ids)
	return ids
}

// Resources are the ids of all resources of the endpoint, in lower case and sorted.
func (c *Contoso) Resources(t testing.TB) []string {
	t.Helper()
	ids := c.IDs(t)
	for i, id := range ids {
		ids[i] = strings.ToLower(id)
	}
	slices.Sort(ids)
	return ids
}

// Holds reports whether the endpoint has the resource with this id.
func (c *Contoso) Holds(t testing.TB, id string) bool {
	t.Helper()
	return slices.Contains(c.Resources(t), strings.ToLower(id))
}

// record reads one of the provider's own lists into a slice.
func (c *Contoso) record(t testing.TB, path string, into any) {
	t.Helper()
	body := c.Do(t, Request{Method: http.MethodGet, Path: path}).Want(t, 200).Body
	list := struct {
		Value any `json:"value"`
	}{into}
	if err := json.Unmarshal(body, &list); err != nil {
		t.Fatalf("contoso %s, %s: %v; body: %s", c.Region, path, err, body)
	}
}

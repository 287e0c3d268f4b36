package api

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// Bounds of a call.
const (
	callTime    = 90 * time.Second // longer than a page of the change feed may wait
	answerBytes = 32 << 20
)

// ClientOptions configure a Client.
type ClientOptions struct {
	// URL is the listener's http or https URL, such as http://127.0.0.1:8081.
	URL string
	// Token is the admin token to send; "" sends none.
	Token string
	// Authorities are the roots for its certificate; nil means the system's.
	Authorities *x509.CertPool
}

// Client calls one admin listener. It is safe for concurrent use.
//
// It sends the token only to the address that it was created for: it uses no proxy, and
// follows neither redirects nor links to other hosts. The size of answers is bounded. Errors
// are of the types *UnreachableError, *Refusal and *NotAdminError.
type Client struct {
	// OnNote, if not nil, is called with the note of a page that lacks something. Set it
	// before the first call.
	OnNote func(note string)

	base, token string
	http        *http.Client
}

// NewClient returns a client without calling the listener. The caller closes it.
func NewClient(o ClientOptions) (*Client, error) {
	at, err := url.Parse(o.URL)
	if err != nil || at.Scheme != "http" && at.Scheme != "https" || at.Host == "" || strings.Trim(at.Path, "/") != "" ||
		at.RawQuery != "" || at.Fragment != "" || at.User != nil {
		return nil, fmt.Errorf("%q is not the URL of an admin listener, such as http://127.0.0.1:8081", o.URL)
	}
	return &Client{
		base: at.Scheme + "://" + at.Host, token: o.Token,
		http: &http.Client{
			Transport:     &http.Transport{Proxy: nil, TLSClientConfig: &tls.Config{RootCAs: o.Authorities, MinVersion: tls.VersionTLS12}},
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}, nil
}

// Close closes the connections that are not in use.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// Request is a request to the listener.
type Request struct {
	Method string
	// Path is the path of an Operation, with each {name} replaced by a value that
	// url.PathEscape has escaped.
	Path  string
	Query url.Values
	// Content is sent as JSON; nil sends none.
	Content any
	// Unbounded calls, which may take long, are bounded by ctx only.
	Unbounded bool
}

// Answer is a successful answer.
type Answer struct {
	Header http.Header
	// Text is the content as received.
	Text []byte
}

// Read reads the answer's JSON.
func (a Answer) Read(into any) error {
	if err := json.Unmarshal(a.Text, into); err != nil {
		return fmt.Errorf("cannot parse the answer of the admin listener: %w", err)
	}
	return nil
}

// Do makes a call. The error is an *UnreachableError, a *Refusal or a *NotAdminError,
// unless ctx has ended.
func (c *Client) Do(ctx context.Context, r Request) (Answer, error) {
	if !r.Unbounded {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, callTime)
		defer cancel()
	}
	request, err := c.request(ctx, r)
	if err != nil {
		return Answer{}, err
	}
	response, err := c.http.Do(request)
	if err != nil {
		if failed, ok := errors.AsType[*url.Error](err); ok {
			err = failed.Err // the URL is known
		}
		return Answer{}, &UnreachableError{c.base, err}
	}
	defer response.Body.Close()
	text, err := io.ReadAll(io.LimitReader(response.Body, answerBytes+1))
	switch {
	case err != nil:
		return Answer{}, &UnreachableError{c.base, err}
	case len(text) > answerBytes:
		return Answer{}, &NotAdminError{URL: c.base, Status: response.StatusCode}
	case response.StatusCode/100 != 2:
		return Answer{}, c.refusal(response, text)
	}
	return Answer{response.Header, text}, nil
}

func (c *Client) request(ctx context.Context, r Request) (*http.Request, error) {
	target := c.base + r.Path
	if len(r.Query) > 0 {
		target += "?" + r.Query.Encode()
	}
	var content []byte
	if r.Content != nil {
		var err error
		if content, err = json.Marshal(r.Content); err != nil {
			return nil, err
		}
	}
	request, err := http.NewRequestWithContext(ctx, r.Method, target, bytes.NewReader(content))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Accept", "application/json")
	if r.Content != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	if c.token != "" {
		request.Header.Set("Authorization", "Bearer "+c.token)
	}
	return request, nil
}

// Get reads the answer to a GET of a path into a T.
func Get[T any](ctx context.Context, c *Client, path string, query url.Values) (T, error) {
	return Call[T](ctx, c, Request{Method: http.MethodGet, Path: path, Query: query})
}

// Call makes a call and reads its answer into a T.
func Call[T any](ctx context.Context, c *Client, r Request) (value T, err error) {
	answer, err := c.Do(ctx, r)
	if err != nil {
		return value, err
	}
	err = answer.Read(&value)
	return value, err
}

// Ready returns an error unless the gateway accepts requests. It sends no token.
func (c *Client) Ready(ctx context.Context) error {
	tokenless := &Client{base: c.base, http: c.http}
	_, err := tokenless.Do(ctx, Request{Method: http.MethodGet, Path: "/readyz"})
	if answered, ok := errors.AsType[*NotAdminError](err); ok {
		return fmt.Errorf("not ready: the admin listener answers %d", answered.Status)
	}
	return err
}

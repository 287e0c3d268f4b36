package api

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
)

func clientOf(t *testing.T, at string) *Client {
	t.Helper()
	c, err := NewClient(ClientOptions{URL: at, Token: "geheim"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// The token goes to the listener alone: whatever that answers names no other place to ask.
func TestTokenGoesNowhereElse(t *testing.T) {
	called := 0
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { called++ }))
	t.Cleanup(elsewhere.Close)
	l := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.Header.Get("Authorization") != "Bearer geheim" && r.URL.Path != "/readyz":
			t.Errorf("%s came with %q", r.URL.Path, r.Header.Get("Authorization"))
		case r.URL.Path == "/readyz" && r.Header.Get("Authorization") != "":
			t.Error("a probe came with a token")
		case r.URL.Path == "/admin/redirect":
			http.Redirect(w, r, elsewhere.URL, http.StatusTemporaryRedirect)
		case r.URL.Path == "/admin/loop":
			fmt.Fprintf(w, `{"value":[1],"nextLink":"%s"}`, r.URL.RequestURI())
		case r.URL.Path == "/admin/jobs":
			fmt.Fprintf(w, `{"value":[1],"nextLink":"%s"}`, strings.ReplaceAll(r.URL.Query().Get("link"), "ELSEWHERE", elsewhere.URL))
		}
	}))
	t.Cleanup(l.Close)
	c := clientOf(t, l.URL)
	if _, err := c.Do(t.Context(), Request{Method: http.MethodGet, Path: "/admin/redirect"}); err == nil {
		t.Error("a redirect is an answer")
	}
	for _, link := range []string{"ELSEWHERE/admin/jobs?after=2", "//other/admin/jobs?after=2", "/admin/other?after=2", "%zz"} {
		all, _, err := ReadList[int](t.Context(), c, "/admin/jobs", url.Values{"link": {link}}, 0)
		if err == nil || len(all) != 1 {
			t.Errorf("the link %q was followed: %v", link, all)
		}
	}
	if all, _, err := ReadList[int](t.Context(), c, "/admin/loop", url.Values{"limit": {"1"}}, 0); err == nil || len(all) != 1 {
		t.Errorf("a page that is its own next one: %v, %v", all, err)
	}
	if err := c.Ready(t.Context()); err != nil {
		t.Error(err)
	}
	if called > 0 {
		t.Errorf("another host was called %d times", called)
	}
}

func TestErrorsSayWhichKindTheyAre(t *testing.T) {
	l := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/refused":
			w.Header().Set("Retry-After", "7")
			w.WriteHeader(http.StatusConflict)
			fmt.Fprint(w, `{"error":{"code":"Conflict","message":"not now","details":[{"message":"m","target":"t"}]}}`)
		case "/page":
			w.WriteHeader(http.StatusNotFound)
			fmt.Fprint(w, "<html>")
		case "/endless":
			for range answerBytes/1024 + 1 {
				if _, err := w.Write(make([]byte, 1024)); err != nil {
					return
				}
			}
		case "/readyz":
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	}))
	t.Cleanup(l.Close)
	c := clientOf(t, l.URL)
	do := func(path string) error {
		_, err := c.Do(t.Context(), Request{Method: http.MethodGet, Path: path})
		return err
	}
	if r, ok := errors.AsType[*Refusal](do("/refused")); !ok || r.Status != 409 || r.Code != "Conflict" || r.RetryAfter.Seconds() != 7 || len(r.Details) != 1 {
		t.Errorf("a refusal: %+v", r)
	}
	for _, path := range []string{"/page", "/endless"} {
		if _, ok := errors.AsType[*NotAdminError](do(path)); !ok {
			t.Errorf("%s is of an admin listener", path)
		}
	}
	if err := c.Ready(t.Context()); err == nil || !strings.Contains(err.Error(), "503") {
		t.Errorf("not ready: %v", err)
	}
	l.Close()
	if _, ok := errors.AsType[*UnreachableError](do("/refused")); !ok {
		t.Error("nobody there is an answer")
	}
}

func TestURLsThatAreRefused(t *testing.T) {
	for _, at := range []string{"", "127.0.0.1:8081", "ftp://a", "http://", "http://a/path", "http://user@a", "http://a?x=1", "http://a#x", "http://a b"} {
		if _, err := NewClient(ClientOptions{URL: at}); err == nil || !strings.Contains(err.Error(), "http://127.0.0.1:8081") {
			t.Errorf("%q: %v", at, err)
		}
	}
}

package hostile

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
)

// If two readers may see a message's end at different places, the following bytes are
// not taken for a request: the connection ends with the answer.
func TestNothingFollowsAnAmbiguousMessage(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{})
	w.group(t, "rg")
	hidden := w.thing("rg", "hidden")
	request := func(target string, lines ...string) string {
		return "PUT " + target + api + " HTTP/1.1\r\nHost: portico\r\nAuthorization: Bearer " + alice.Raw + "\r\nContent-Type: application/json\r\n" + strings.Join(lines, "\r\n") + "\r\n\r\n"
	}
	body := located("westus")
	chunks := fmt.Sprintf("%x\r\n%s\r\n0\r\n\r\n", len(body), body)
	smuggled := request(hidden, fmt.Sprintf("Content-Length: %d", len(body))) + body
	old := func(message string) string { return strings.Replace(message, "HTTP/1.1", "HTTP/1.0", 1) }
	for name, first := range map[string]string{
		"both, the length beyond the chunks": request(w.thing("rg", "a"), fmt.Sprintf("Content-Length: %d", len(chunks)+len(smuggled)), "Transfer-Encoding: chunked") + chunks,
		"both, the other way around":         request(w.thing("rg", "b"), "Transfer-Encoding: chunked", fmt.Sprintf("Content-Length: %d", len(chunks)+len(smuggled))) + chunks,
		"chunks alone":                       request(w.thing("rg", "c"), "Transfer-Encoding: chunked") + chunks,
		"chunks of a GET":                    "GET " + w.thing("rg", "a") + api + " HTTP/1.1\r\nHost: portico\r\nAuthorization: Bearer " + alice.Raw + "\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
		"chunks without a token":             "PUT " + w.thing("rg", "d") + api + " HTTP/1.1\r\nHost: portico\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
		"HTTP/1.0 that stays open":           old(request(w.thing("rg", "e"), "Connection: keep-alive", fmt.Sprintf("Content-Length: %d", len(body)))) + body,
		"HTTP/1.0 with chunks":               old(request(w.thing("rg", "f"), "Connection: keep-alive", "Transfer-Encoding: chunked")),
	} {
		s := w.socket(t, w.Portico.URL, "127.0.0.1")
		sent := make(chan error, 1)
		go func() { _, err := io.WriteString(s, first+smuggled+smuggled); sent <- err }()
		answers := 0
		for answers < 2 {
			res, err := http.ReadResponse(s.read, nil)
			if err != nil {
				break
			}
			answers++
			_, _ = io.Copy(io.Discard, res.Body)
			_ = res.Body.Close()
		}
		_ = s.Close()
		<-sent
		if answers != 1 {
			t.Errorf("%s: %d answers", name, answers)
		}
	}
	for _, x := range w.provider.Calls() {
		if strings.Contains(x.Target, "hidden") {
			t.Errorf("a hidden request reached the provider: %+v", x)
		}
	}
	// A connection continues after a message with an unambiguous end.
	s := w.socket(t, w.Portico.URL, "127.0.0.1")
	if _, err := io.WriteString(s, smuggled+smuggled); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		res, err := http.ReadResponse(s.read, nil)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, bufio.NewReader(res.Body))
		_ = res.Body.Close()
	}
}

// What is no request is answered as errors are, by either listener, and nothing behind it is
// read.
func TestBytesThatAreNoRequest(t *testing.T) {
	t.Parallel()
	for _, secure := range []bool{false, true} {
		w := newWorld(t, options{TLS: secure})
		good := strings.Join(subscriptionGET(w, alice.Raw), "\r\n") + "\r\n\r\n"
		for text, want := range map[string]shortAnswer{
			"GET /subscriptions HTTP/1.1\r\n\r\n":                                                              {400, "InvalidRequestHeader", true},
			"GET /subscriptions HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n":                                        {400, "InvalidRequestHeader", true},
			"GET /subscriptions HTTP/1.1\r\nA b\r\n":                                                           {400, "InvalidRequestHeader", true},
			"GET /subscriptions HTTP/1.1\r\nHost: portico\r\nX-A: \x01\r\n\r\n":                                {400, "InvalidRequestHeader", true},
			"GET /subscriptions HTTP/1.1\r\nHost: portico\r\nAuthorization: Bearer\r\n " + alice.Raw + "\r\n":  {400, "InvalidRequestHeader", true},
			"GET /subscriptions HTTP/1.2\r\nHost: portico\r\n\r\n":                                             {505, "InvalidRequestUri", true},
			"GET /subscriptions HTTP/3.0\r\nHost: portico\r\n\r\n":                                             {505, "InvalidRequestUri", true},
			"PUT /subscriptions HTTP/1.1\r\nHost: portico\r\nTransfer-Encoding: gzip\r\n\r\n":                  {501, "InvalidRequestHeader", true},
			"PUT /subscriptions HTTP/1.1\r\nHost: portico\r\nExpect: x\r\n\r\n":                                {417, "InvalidRequestHeader", true},
			"GET /subscriptions HTTP/1.1\r\nHost: portico\r\nX-A: " + strings.Repeat("x", 20<<10) + "\r\n\r\n": {431, "InvalidRequestHeader", true},
			"\x00\r\n": {400, "InvalidRequestUri", true},
		} {
			for _, before := range []string{"", good} {
				all := []shortAnswer{{status: 200}, want}[1-len(before)/len(good):]
				s := w.open(t, secure)
				if got := s.answers(t, len(all)+1, atOnce, before+text+good); !slices.Equal(got, all) {
					t.Errorf("TLS %v, %.60q: %+v, want %+v", secure, text, got, all)
				}
			}
			admin := w.socket(t, w.Portico.AdminURL, "127.0.0.1")
			if got := admin.answers(t, 2, atOnce, text+"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"); !slices.Equal(got, []shortAnswer{want}) {
				t.Errorf("the admin listener, %.60q: %+v, want %+v", text, got, want)
			}
		}
		if secure {
			s := w.socket(t, w.Portico.URL, "127.0.0.1")
			if got := s.answers(t, 2, atOnce, good); !slices.Equal(got, []shortAnswer{{400, "InvalidRequestUri", true}}) {
				t.Errorf("without TLS: %+v", got)
			}
		}
	}
}

package hostile

import (
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
)

// secured opens a TLS connection that speaks HTTP/1.1.
func (w world) secured(t *testing.T) socket {
	t.Helper()
	s := w.socket(t, w.Portico.URL, "127.0.0.1")
	c := tls.Client(s.Conn, &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"http/1.1"}}) //nolint:gosec // the server's identity does not matter here
	if err := c.HandshakeContext(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.read.Reset(c)
	return socket{c, s.read}
}

func (w world) open(t *testing.T, secure bool) socket {
	t.Helper()
	if secure {
		return w.secured(t)
	}
	return w.socket(t, w.Portico.URL, "127.0.0.1")
}

// shortAnswer is the part of an answer that these tests compare.
type shortAnswer struct {
	status int
	code   string
	close  bool
}

// answers sends a stream and reads answers, until it has as many as wanted or the
// connection ends.
func (s socket) answers(t *testing.T, want int, write func(io.Writer, string) error, stream string) (all []shortAnswer) {
	t.Helper()
	sent := make(chan error, 1)
	go func() { sent <- write(s, stream) }()
	for len(all) < want {
		res, err := http.ReadResponse(s.read, nil)
		if err != nil {
			break
		}
		var failure struct{ Error struct{ Code string } }
		_ = json.NewDecoder(res.Body).Decode(&failure) // not every answer is an error
		_, _ = io.Copy(io.Discard, res.Body)
		_ = res.Body.Close()
		all = append(all, shortAnswer{res.StatusCode, failure.Error.Code, res.Close})
	}
	if n := len(all); n > 0 && all[n-1].close {
		if err := s.closed(); err != nil {
			t.Errorf("said to be closed: %v", err)
		}
	}
	_ = s.Close()
	<-sent // the connection may have closed before its end
	return all
}

func atOnce(w io.Writer, stream string) error { _, err := io.WriteString(w, stream); return err }

func byteByByte(w io.Writer, stream string) error {
	var failure error
	for i := range len(stream) {
		_, err := io.WriteString(w, stream[i:i+1])
		failure = errors.Join(failure, err)
	}
	return failure
}

// A message with a length and chunks is refused, wherever it stands on its connection
// and however it arrives; earlier ones are not.
func TestLengthBesideChunksIsRefused(t *testing.T) {
	t.Parallel()
	const length, chunked, bare = "Content-Length: %d\r\n", "Transfer-Encoding: chunked\r\n", "Transfer-Encoding: chunked\n"
	body := located("westus")
	chunks := fmt.Sprintf("%x\r\n%s\r\n0\r\n\r\n", len(body), body)
	bad := shortAnswer{400, "InvalidRequestHeader", true}
	fine := shortAnswer{status: 200}
	for name, secure := range map[string]bool{"plain": false, "TLS": true} {
		w := newWorld(t, options{TLS: secure})
		w.group(t, "rg")
		w.put(t, w.thing("rg", "good"))
		request := func(version, target string, lines ...string) string {
			all := strings.Join(lines, "")
			if strings.Contains(all, "%d") {
				all = fmt.Sprintf(strings.ReplaceAll(all, "%d", "%[1]d"), len(body))
			}
			return "PUT " + w.thing("rg", target) + api + " " + version + "\r\nHost: portico\r\nAuthorization: Bearer " + alice.Raw + "\r\nContent-Type: application/json\r\n" + all + "\r\n"
		}
		put := func(target string, lines ...string) string { return request("HTTP/1.1", target, lines...) }
		good := put("good", length) + body
		ambiguous := put("bad", length, chunked) + chunks
		for _, c := range []struct {
			name, stream string
			want         []shortAnswer
		}{
			{"the length first", ambiguous, []shortAnswer{bad}},
			{"the chunks first", put("bad", chunked, length) + chunks, []shortAnswer{bad}},
			{"a length of 0", put("bad", chunked, "Content-Length: 0\r\n") + chunks, []shortAnswer{bad}},
			{"odd case", put("bad", "cONTENT-lENGTH: %d\r\n", "TRANSFER-ENCODING: Chunked\r\n") + chunks, []shortAnswer{bad}},
			{"bare line ends", put("bad", "Content-Length: %d\n", bare) + chunks, []shortAnswer{bad}},
			{"no space", put("bad", "Content-Length:%d\r\n", "Transfer-Encoding:chunked\r\n") + chunks, []shortAnswer{bad}},
			{"other lines between", put("bad", length, "X-A: b\r\n c\r\nTransfer: x\r\nContent: y\r\n", chunked) + chunks, []shortAnswer{bad}},
			{"a long line before", put("bad", "X-A: "+strings.Repeat("x", 5000)+"\r\n", length, chunked) + chunks, []shortAnswer{bad}},
			{"two equal lengths", put("bad", length, length, chunked) + chunks, []shortAnswer{bad}},
			{"folded chunks", put("bad", length, "Transfer-Encoding:\r\n chunked\r\n") + chunks, []shortAnswer{bad}},
			{"a folded length", put("bad", "Content-Length:\r\n %d\r\n") + body, []shortAnswer{bad}},
			{"HTTP/1.0", request("HTTP/1.0", "bad", length, chunked) + chunks, []shortAnswer{bad}},
			{"behind another", good + ambiguous, []shortAnswer{fine, bad}},
			{"behind two others", good + good + ambiguous + good, []shortAnswer{fine, fine, bad}},
			{"behind one without content", strings.Join(subscriptionGET(w, alice.Raw), "\r\n") + "\r\n\r\n" + ambiguous, []shortAnswer{fine, bad}},
			{"behind one that is refused", put("good", length, "X-Ms-Client-Request-Id: a\r\nX-Ms-Client-Request-Id: b\r\n") + body + ambiguous, []shortAnswer{{400, "InvalidRequestHeader", false}, bad}},
			{"behind chunks", put("good", chunked) + chunks + ambiguous, []shortAnswer{{200, "", true}}},
			{"behind chunks of another protocol", "PRI * HTTP/2.0\r\nHost: portico\r\n" + chunked + "\r\n0\r\n\r\n" + ambiguous, nil},
			{"a space before the colon", put("bad", length, "Transfer-Encoding : chunked\r\n") + chunks, []shortAnswer{bad}},
			{"a folded line at first", "PUT / HTTP/1.1\r\n Transfer-Encoding: chunked\r\nHost: portico\r\nContent-Length: 5\r\n\r\n" + chunks, []shortAnswer{bad}},
			{"lengths alone", good + good, []shortAnswer{fine, fine}},
			{"chunks alone", put("good", chunked) + chunks, []shortAnswer{{200, "", true}}},
		} {
			for how, write := range map[string]func(io.Writer, string) error{"at once": atOnce, "byte by byte": byteByByte} {
				got := w.open(t, secure).answers(t, max(len(c.want), 2), write, c.stream)
				if c.want == nil {
					c.want = got[:min(1, len(got))] // in any case it is the last
				}
				if !slices.Equal(got, c.want) {
					t.Errorf("%s, %s, %s: %+v, want %+v", name, c.name, how, got, c.want)
				}
			}
		}
		for _, x := range w.provider.Calls() {
			if strings.Contains(x.Target, "bad") {
				t.Errorf("%s: reached the provider: %s", name, x.Target)
			}
		}
		admin := "GET /healthz HTTP/1.1\r\nHost: localhost\r\n"
		s := w.socket(t, w.Portico.AdminURL, "127.0.0.1")
		if got := s.answers(t, 3, atOnce, admin+"\r\n"+admin+"Content-Length: 5\r\n"+chunked+"\r\n0\r\n\r\n"+admin+"\r\n"); !slices.Equal(got, []shortAnswer{fine, bad}) {
			t.Errorf("the admin listener: %+v", got)
		}
	}
}

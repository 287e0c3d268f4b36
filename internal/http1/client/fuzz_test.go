package client

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"reflect"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"
)

// scriptedConn answers the first request with bytes, so many at a time, and then fails.
type scriptedConn struct {
	answer    []byte
	step      int
	end       error // after the answer
	requested chan struct{}
	once      sync.Once
	closed    chan struct{}
	ended     sync.Once
}

var errStarved = errors.New("nothing more comes")

func newScripted(answer []byte, step int, end error) *scriptedConn {
	return &scriptedConn{answer: answer, step: step, end: end, requested: make(chan struct{}), closed: make(chan struct{})}
}

func (c *scriptedConn) Read(p []byte) (int, error) {
	select {
	case <-c.requested:
	case <-c.closed:
		return 0, net.ErrClosed
	}
	if len(c.answer) == 0 {
		return 0, c.end
	}
	n := copy(p, c.answer[:min(c.step, len(c.answer))])
	c.answer = c.answer[n:]
	return n, nil
}

func (c *scriptedConn) Write(p []byte) (int, error) {
	c.once.Do(func() { close(c.requested) })
	return len(p), nil
}

func (c *scriptedConn) Close() error {
	c.ended.Do(func() { close(c.closed) })
	return nil
}
func (*scriptedConn) LocalAddr() net.Addr              { return &net.TCPAddr{} }
func (*scriptedConn) RemoteAddr() net.Addr             { return &net.TCPAddr{} }
func (*scriptedConn) SetDeadline(time.Time) error      { return nil }
func (*scriptedConn) SetReadDeadline(time.Time) error  { return nil }
func (*scriptedConn) SetWriteDeadline(time.Time) error { return nil }

// reading is what a client made of an answer.
type reading struct {
	status int
	header http.Header
	length int64
	body   []byte
	err    error
}

func readAll(response *http.Response, err error) (r reading) {
	if err != nil {
		return reading{err: err}
	}
	defer response.Body.Close()
	if response.StatusCode < http.StatusOK {
		return reading{status: response.StatusCode} // no answer: another protocol, or no status
	}
	r = reading{status: response.StatusCode, header: response.Header, length: response.ContentLength}
	r.body, r.err = io.ReadAll(response.Body)
	return r
}

// byStandard lets net/http read an answer.
func byStandard(method string, conn net.Conn) reading {
	transport := &http.Transport{
		DialContext:        func(context.Context, string, string) (net.Conn, error) { return conn, nil },
		DisableCompression: true, MaxResponseHeaderBytes: 64 << 10,
	}
	defer transport.CloseIdleConnections()
	response, err := transport.RoundTrip(&http.Request{Method: method, URL: &url.URL{Scheme: "http", Host: "h", Path: "/"}, Header: http.Header{}})
	return readAll(response, err)
}

// clientOf is a client whose connections are these, one after the other.
func clientOf(conns ...net.Conn) *Client {
	return New(Options{
		Host: "h", Address: "h:80", HandshakeTimeout: time.Minute, IdleTimeout: time.Hour,
		MaxIdle: 4, MaxOpen: 4, IdleInAll: &Idle{Max: 4}, MaxHead: 64 << 10,
		Dial: func(context.Context, string, string) (net.Conn, error) {
			if len(conns) == 0 {
				return nil, errors.New("no connection is left")
			}
			conn := conns[0]
			conns = conns[1:]
			return conn, nil
		},
	})
}

func (c *Client) get(method string) reading {
	response, err := c.Do(context.Background(), &Request{Method: method, Path: "/"})
	return readAll(response, err)
}

// oddAnswers are shapes that readers of HTTP/1.1 disagree about, or have.
func oddAnswers() []string {
	const ok, chunked = "HTTP/1.1 200 OK\r\n", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n"
	all := []string{
		ok + "Content-Length: 2\r\n\r\nhi", ok + "Content-Length: 0\r\n\r\n", ok + "\r\nto the end", "HTTP/1.1 200\r\nContent-Length: 0\r\n\r\n",
		"HTTP/1.1 204 No Content\r\n\r\n", "HTTP/1.1 204 X\r\nContent-Length: 5\r\n\r\nhello", "HTTP/1.1 304 X\r\nContent-Length: 5\r\n\r\n", "HTTP/1.1 204 X\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
		// Lengths.
		ok + "Content-Length: 2\r\nContent-Length: 2\r\n\r\nhi", ok + "Content-Length: 2\r\nContent-Length: 3\r\n\r\nhi!", ok + "Content-Length: 2, 2\r\n\r\nhi", ok + "Content-Length: +2\r\n\r\nhi",
		ok + "Content-Length: -2\r\n\r\nhi", ok + "Content-Length: 0x2\r\n\r\nhi", ok + "Content-Length: 2 \r\n\r\nhi", ok + "Content-Length:\r\n\r\nhi", ok + "Content-Length: 99999999999999999999\r\n\r\nhi",
		ok + "Content-Length: 9223372036854775807\r\n\r\nhi", ok + "Content-Length: 9223372036854775808\r\n\r\nhi", ok + "Content-Length: 1_0\r\n\r\n0123456789", ok + "Content-Length: 002\r\n\r\nhi", ok + "Content-Length: 5\r\n\r\nhi",
		ok + "Content-Length: 2\r\n\r\nhi and more", ok + "Content-Length: 2\r\n\r\nhi" + ok + "Content-Length: 4\r\n\r\nevil",
		// Encodings.
		chunked + "\r\n2\r\nhi\r\n0\r\n\r\n", chunked + "Content-Length: 3\r\n\r\n2\r\nhi\r\n0\r\n\r\n", chunked + "Content-Length: x\r\n\r\n2\r\nhi\r\n0\r\n\r\n", "HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n",
		ok + "Transfer-Encoding: gzip, chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n", ok + "Transfer-Encoding: identity\r\nContent-Length: 2\r\n\r\nhi", ok + "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
		ok + "Transfer-Encoding: Chunked\r\n\r\n0\r\n\r\n", ok + "Transfer-Encoding: chun\u212aed\r\n\r\n0\r\n\r\n", ok + "Transfer-Encoding: \x0bchunked\r\n\r\n0\r\n\r\n", ok + "Transfer-Encoding:\r\n\r\nhi", ok + "Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n",
		// Chunks.
		chunked + "\r\n2;a=b\r\nhi\r\n0;c\r\n\r\n", chunked + "\r\n2;" + strings.Repeat("a", 5000) + "\r\nhi\r\n0\r\n\r\n", chunked + "\r\n2\nhi\r\n0\r\n\r\n", chunked + "\r\n2\r\nhi\n0\r\n\r\n", chunked + "\r\n2\r\nhi\r\n0\r\n\n",
		chunked + "\r\n2 \r\nhi\r\n0\r\n\r\n", chunked + "\r\n2 ;a\r\nhi\r\n0\r\n\r\n", chunked + "\r\n 2\r\nhi\r\n0\r\n\r\n", chunked + "\r\n0x2\r\nhi\r\n0\r\n\r\n", chunked + "\r\n+2\r\nhi\r\n0\r\n\r\n", chunked + "\r\n-2\r\nhi\r\n0\r\n\r\n", chunked + "\r\n\r\nhi\r\n0\r\n\r\n",
		chunked + "\r\nffffffffffffffff\r\nhi\r\n0\r\n\r\n", chunked + "\r\n10000000000000002\r\nhi\r\n0\r\n\r\n", chunked + "\r\n0000000000000002\r\nhi\r\n0\r\n\r\n", chunked + "\r\n2\r\nhi!\r\n0\r\n\r\n", chunked + "\r\n2\r\nhi\r\n", chunked + "\r\n2\r\nhi\r\n0\r\n",
		chunked + "\r\n2;a\rb\r\nhi\r\n0\r\n\r\n", chunked + "\r\n" + strings.Repeat("1;"+strings.Repeat("x", 100)+"\r\na\r\n", 400) + "0\r\n\r\n", chunked + "\r\n" + strings.Repeat("1\r\na\r\n", 400) + "0\r\n\r\n", chunked + "\r\n2\r\nhi\r\n0\r\n\r\nmore",
		// Trailers.
		chunked + "\r\n2\r\nhi\r\n0\r\nA: b\r\n\r\n", chunked + "Trailer: A\r\n\r\n0\r\nA: b\r\n\r\n", chunked + "Trailer: Content-Length\r\n\r\n0\r\n\r\n", chunked + "Trailer: a, transfer-encoding\r\n\r\n0\r\n\r\n", chunked + "\r\n0\r\nA\r\n\r\n", chunked + "\r\n0\r\nA: b\r\n c\r\n\r\n",
		chunked + "\r\n0\r\nA: " + strings.Repeat("x", 5000) + "\r\n\r\n", chunked + "\r\n0\r\nA: b\n\r\n", chunked + "\r\n0\r\nContent-Length: 3\r\n\r\n", chunked + "\r\n0\r\nA: b\r\n", ok + "Trailer: Content-Length\r\nContent-Length: 0\r\n\r\n",
		// Lines and names.
		ok + "A: b\r\n c\r\nContent-Length: 0\r\n\r\n", ok + " A: b\r\nContent-Length: 0\r\n\r\n", ok + "A: b\n\tc\nContent-Length: 0\n\n", ok + "A : b\r\nContent-Length: 0\r\n\r\n", ok + "Content-Length : 5\r\n\r\nhello", ok + "A b: c\r\nContent-Length: 0\r\n\r\n",
		ok + "A\x00: b\r\nContent-Length: 0\r\n\r\n", ok + "A: b\x00c\r\nContent-Length: 0\r\n\r\n", ok + "A: b\rc\r\nContent-Length: 0\r\n\r\n", ok + "A: b\r\r\nContent-Length: 0\r\n\r\n", ok + "A: b\x7f\r\nContent-Length: 0\r\n\r\n", ok + "A: \xff\r\nContent-Length: 0\r\n\r\n", ok + "\xff: a\r\nContent-Length: 0\r\n\r\n",
		ok + ": b\r\nContent-Length: 0\r\n\r\n", ok + "A\r\nContent-Length: 0\r\n\r\n", ok + "A:\r\nContent-Length: 0\r\n\r\n", ok + "A:  b \t\r\na: c\r\nx-ms-y: 1\r\nETAG: 2\r\nContent-Length: 0\r\n\r\n", "HTTP/1.1 200 OK\nContent-Length: 2\n\nhi", "HTTP/1.1 200 OK\r\nContent-Length: 2\n\r\nhi",
		ok + strings.Repeat("A: b\r\n", 3000) + "Content-Length: 0\r\n\r\n", ok + "A: " + strings.Repeat("x", 70<<10) + "\r\n\r\n", ok + "A: " + strings.Repeat("x", 40<<10) + "\r\nContent-Length: 0\r\n\r\n", ok + strings.Repeat("A: b\r\n", 200) + "Content-Length: 2\r\n\r\nhi", ok + "Pragma: no-cache\r\nContent-Length: 0\r\n\r\n",
		// Status lines.
		"", "\r\n" + ok + "Content-Length: 0\r\n\r\n", "HTTP/1.1  200 OK\r\nContent-Length: 0\r\n\r\n", "HTTP/1.1 +20 OK\r\nContent-Length: 0\r\n\r\n", "HTTP/1.1 20 OK\r\n\r\n", "HTTP/1.1 2000 OK\r\n\r\n", "HTTP/1.1 2x0 OK\r\n\r\n", "HTTP/1.1 200\tOK\r\n\r\n", "HTTP/1.1\t200 OK\r\n\r\n", "HTTP/1.1 000 X\r\nContent-Length: 0\r\n\r\n",
		"HTTP/2.0 200 OK\r\nContent-Length: 0\r\n\r\n", "HTTP/1.2 200 OK\r\nContent-Length: 0\r\n\r\n", "HTTP/0.9 200 OK\r\n\r\nhi", "HTTP/1.10 200 OK\r\n\r\n", "http/1.1 200 OK\r\n\r\n", "SSH-2.0-x\r\n", "HTTP/1.1 200 OK", "HTTP/1.1 200 OK\r\nA: b", "HTTP/1.1 200 OK\r\n\r", "HTTP/1.1 999 \xff\r\nContent-Length: 0\r\n\r\n",
		// Interim answers.
		"HTTP/1.1 100 Continue\r\n\r\n" + ok + "Content-Length: 2\r\n\r\nhi", "HTTP/1.1 103 Early\r\nLink: a\r\n\r\n" + ok + "Content-Length: 2\r\n\r\nhi", strings.Repeat("HTTP/1.1 102 X\r\n\r\n", 70) + ok + "Content-Length: 0\r\n\r\n", "HTTP/1.1 100 Continue\r\nContent-Length: 5\r\n\r\n" + ok + "Content-Length: 2\r\n\r\nhi",
		"HTTP/1.1 100 Continue\r\nContent-Length: x\r\n\r\n" + ok + "\r\n", "HTTP/1.1 100 Continue\r\n\r\n", "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\nevil", "HTTP/1.1 100 Continue\r\nTransfer-Encoding: x\r\n\r\n" + ok + "\r\n",
		// Connections.
		ok + "Connection: close\r\nContent-Length: 2\r\n\r\nhi", ok + "Connection: Keep-Alive, CLOSE\r\nContent-Length: 2\r\n\r\nhi", "HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nhi", "HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 2\r\n\r\nhi", "HTTP/1.0 200 OK\r\n\r\nto the end",
	}
	return all
}

// FuzzAnswers gives an answer's bytes to this client and to net/http's: both read the
// same, or neither reads it. Where only this client refuses, it says why by an error
// of which stricter knows when it may come.
func FuzzAnswers(f *testing.F) {
	for i, answer := range oddAnswers() {
		f.Add([]byte(answer), uint8(i), uint16(0))
		f.Add([]byte(answer), uint8(i/3), uint16(1+i%7))
	}
	f.Fuzz(func(t *testing.T, answer []byte, how uint8, step uint16) {
		method := [...]string{http.MethodGet, http.MethodHead, http.MethodPut}[how%3]
		end := [...]error{io.EOF, errStarved}[how/3%2]
		size := int(step)
		if size == 0 {
			size = len(answer) + 1
		}
		next := newScripted([]byte("HTTP/1.1 222 Next\r\nContent-Length: 0\r\n\r\n"), 1<<10, io.EOF)
		client := clientOf(newScripted(answer, size, end), next)
		defer client.CloseIdle()
		got, want := client.get(method), byStandard(method, newScripted(answer, size, end))
		if why := differ(got, want, answer); why != "" {
			t.Errorf("%s of %q, in pieces of %d, then %v: %s", method, answer, size, end, why)
		}
		// No bytes that came with an answer become the next one.
		if len(answer) < initialBuffer && size > len(answer) {
			if after := client.get(http.MethodGet); after.err == nil && after.status != 222 {
				t.Errorf("%s of %q: the next answer is %d", method, answer, after.status)
			}
		}
	})
}

func differ(got, want reading, answer []byte) string {
	switch {
	case got.err != nil && want.err != nil:
		return ""
	case want.err != nil:
		return fmt.Sprintf("got %d %q %q, net/http refuses it: %v", got.status, got.header, got.body, want.err)
	case got.err != nil:
		if stricter(got.err, answer) {
			return ""
		}
		return fmt.Sprintf("%v, net/http reads %d %q %q", got.err, want.status, want.header, want.body)
	case got.status != want.status, got.length != want.length, !bytes.Equal(got.body, want.body), !reflect.DeepEqual(got.header, want.header):
		return fmt.Sprintf("got %d %d %q %q, net/http reads %d %d %q %q", got.status, got.length, got.header, got.body, want.status, want.length, want.header, want.body)
	}
	return ""
}

var (
	strictStatus = regexp.MustCompile(`^HTTP/1\.[0-9] [0-9]{3}( .*)?\r?$`)
	spaceInName  = regexp.MustCompile(`(?m)^[^:\r\n]* [^:\r\n]*:`)
	bareLineFeed = regexp.MustCompile(`(^|[^\r])\n`)
)

// stricter reports whether this client may refuse for a reason what net/http reads.
func stricter(reason error, answer []byte) bool {
	switch {
	case errors.Is(reason, errFolded), errors.Is(reason, errTooMany), errors.Is(reason, errInterim), errors.Is(reason, errTooLong):
		return true // bounds, and a form that no one may send
	case errors.Is(reason, errFieldLine):
		return spaceInName.Match(answer)
	case errors.Is(reason, errEncoding):
		return bytes.Contains(answer, []byte("HTTP/1.0 "))
	case errors.Is(reason, errChunk):
		return bareLineFeed.Match(answer) // behind a trailer
	case errors.Is(reason, errStatusLine):
		for line := range bytes.SplitSeq(answer, []byte("\n")) {
			if bytes.HasPrefix(line, []byte("HTTP/")) && !strictStatus.Match(line) {
				return true
			}
		}
	}
	return false
}

package wire

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"portico/test/harness"
)

// patience bounds every exchange that is not meant to be slow: a gateway that hangs
// fails the case instead of hanging the test.
const patience = 2 * time.Minute

// reply is one answer as read from the socket.
type reply struct {
	status int
	header http.Header
	body   []byte
}

// failure is ARM's error envelope.
type failure struct {
	Error fault `json:"error"`
}

// fault is an ARM error within its envelope, or a detail of another one.
type fault struct {
	Code    string  `json:"code"`
	Message string  `json:"message"`
	Target  string  `json:"target"`
	Details []fault `json:"details"`
}

func (r reply) failure(t *testing.T) failure {
	t.Helper()
	var f failure
	if err := json.Unmarshal(r.body, &f); err != nil {
		t.Fatalf("the error's body is no JSON: %v\n%s", err, r)
	}
	return f
}

func (r reply) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d\n", r.status)
	for name, values := range r.header {
		for _, v := range values {
			fmt.Fprintf(&b, "%s: %.300s\n", name, v)
		}
	}
	fmt.Fprintf(&b, "\n%.2000s", r.body)
	return b.String()
}

// message is a request byte by byte: nothing is escaped, ordered, folded or counted.
type message struct {
	method string   // GET when empty
	target string   // the request target
	host   string   // the gateway's own when empty, no Host line when "-"
	header []string // whole lines, without line ends
	body   string
	// framed means that header frames the body (Transfer-Encoding or its own
	// Content-Length), which is sent unchanged.
	framed bool
}

func (m message) verb() string {
	if m.method == "" {
		return http.MethodGet
	}
	return m.method
}

func (m message) has(name string) bool {
	for _, line := range m.header {
		if got, _, found := strings.Cut(line, ":"); found && strings.EqualFold(strings.TrimSpace(got), name) {
			return true
		}
	}
	return false
}

// bytes formats the message for the listener at address. A body without a content type
// gets the one of JSON; "Content-Type:" alone sends none.
func (m message) bytes(address string) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s %s HTTP/1.1\r\n", m.verb(), m.target)
	switch m.host {
	case "":
		fmt.Fprintf(&b, "Host: %s\r\n", address)
	case "-":
	default:
		fmt.Fprintf(&b, "Host: %s\r\n", m.host)
	}
	for _, line := range m.header {
		if line != "Content-Type:" {
			fmt.Fprintf(&b, "%s\r\n", line)
		}
	}
	if m.body != "" && !m.has("Content-Type") {
		b.WriteString("Content-Type: application/json\r\n")
	}
	if !m.framed && (m.body != "" || m.verb() == http.MethodPut || m.verb() == http.MethodPost || m.verb() == http.MethodPatch) {
		fmt.Fprintf(&b, "Content-Length: %d\r\n", len(m.body))
	}
	b.WriteString("\r\n")
	b.WriteString(m.body)
	return b.Bytes()
}

// dial opens a connection that the test closes, with a deadline.
func dial(t *testing.T, address string) net.Conn {
	t.Helper()
	c, err := net.DialTimeout("tcp", address, patience)
	harness.OK(t, err)
	t.Cleanup(func() { _ = c.Close() })
	harness.OK(t, c.SetDeadline(time.Now().Add(patience)))
	return c
}

// exchange sends raw on a new connection and returns the first answer to a request with
// the given method.
func exchange(t *testing.T, address, method string, raw []byte) reply {
	t.Helper()
	c := dial(t, address)
	defer func() { _ = c.Close() }()
	// A server may answer and close before it has read everything. Only the answer
	// matters, so the write runs in parallel.
	written := make(chan error, 1)
	go func() {
		_, err := c.Write(raw)
		written <- err
	}()
	got, err := readReply(bufio.NewReader(c), method)
	_ = c.Close()
	sent := <-written
	if err != nil {
		t.Fatalf("no answer: %v (sending: %v)\nrequest: %.500q", err, sent, raw)
	}
	return got
}

// readReply reads one whole final answer and skips interim ones.
func readReply(r *bufio.Reader, method string) (reply, error) {
	for {
		res, err := http.ReadResponse(r, &http.Request{Method: method})
		if err != nil {
			return reply{}, err
		}
		body, err := io.ReadAll(res.Body)
		_ = res.Body.Close()
		if err != nil {
			return reply{}, fmt.Errorf("body of a %d: %w", res.StatusCode, err)
		}
		if res.StatusCode >= 200 {
			return reply{status: res.StatusCode, header: res.Header, body: body}, nil
		}
	}
}

// pipeline sends raw on one connection and returns every answer, at most most of them,
// until the server closes. It fails the test if the server neither answers nor closes.
func pipeline(t *testing.T, address string, raw []byte, most int) []reply {
	t.Helper()
	c := dial(t, address)
	defer func() { _ = c.Close() }()
	written := make(chan error, 1)
	go func() {
		// No half-close after it: servers take that for the client's end.
		_, err := c.Write(raw)
		written <- err
	}()
	defer func() { _ = c.Close(); <-written }()
	var all []reply
	r := bufio.NewReader(c)
	for len(all) < most {
		got, err := readReply(r, http.MethodGet)
		if err != nil {
			if timeout := net.Error(nil); errors.As(err, &timeout) && timeout.Timeout() {
				t.Fatalf("the connection hung after %d answers\nrequest: %.500q", len(all), raw)
			}
			break // closed: a server ends a stream so if it distrusts it
		}
		all = append(all, got)
	}
	return all
}

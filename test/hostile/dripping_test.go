package hostile

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"portico/test/harness"
)

// dripping is a way of delaying an answer. Each message is sent, and then nothing until
// the gateway gives up; closed ends the connection instead.
type dripping struct {
	name, message string
	drip          string // repeated after the message
	closed        bool
	want          string // the code of the error; empty: the answer breaks off
}

const jsonHead = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"

func drips() []dripping {
	half, big := `{"id":"x","properties":{`, `{"pad":"`+strings.Repeat("x", 200<<10)
	return []dripping{
		{name: "headers with a length, then nothing", message: jsonHead + "Content-Length: 1000\r\n\r\n", want: "GatewayTimeout"},
		{name: "headers of chunks, then nothing", message: jsonHead + "Transfer-Encoding: chunked\r\n\r\n", want: "GatewayTimeout"},
		{name: "headers without a length, then nothing", message: jsonHead + "\r\n", want: "GatewayTimeout"},
		{name: "half of a small body", message: jsonHead + "Content-Length: 1000\r\n\r\n" + half, want: "GatewayTimeout"},
		{name: "one chunk of a small body", message: jsonHead + "Transfer-Encoding: chunked\r\n\r\n18\r\n" + half + "\r\n", want: "GatewayTimeout"},
		{name: "small chunks without an end", message: jsonHead + "Transfer-Encoding: chunked\r\n\r\n", drip: "1\r\nx\r\n", want: "GatewayTimeout"},
		{name: "half of a large body", message: jsonHead + "Content-Length: 1000000\r\n\r\n" + big},
		{name: "large chunks without an end", message: jsonHead + "Transfer-Encoding: chunked\r\n\r\n", drip: fmt.Sprintf("%x\r\n%s\r\n", len(big), big)},
		{name: "a length that is not reached", message: jsonHead + "Content-Length: 1000\r\n\r\n" + half, closed: true, want: "BadGatewayConnection"},
		{name: "an empty body in place of a length", message: jsonHead + "Content-Length: 1000\r\n\r\n", closed: true, want: "BadGatewayConnection"},
		{name: "chunks that end early", message: jsonHead + "Transfer-Encoding: chunked\r\n\r\n18\r\n" + half + "\r\n", closed: true, want: "BadGatewayConnection"},
		{name: "a large length that is not reached", message: jsonHead + "Content-Length: 1000000\r\n\r\n" + big, closed: true},
	}
}

// answer writes the message and waits until the gateway closes its connection.
func (d dripping) answer(w http.ResponseWriter, r *http.Request) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		panic(err)
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(30 * time.Second))
	if _, err := conn.Write([]byte(d.message)); err != nil || d.closed {
		return
	}
	for d.drip != "" {
		if _, err := conn.Write([]byte(d.drip)); err != nil {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	_, _ = conn.Read(make([]byte, 1)) // until the gateway closes
}

// Whatever a provider withholds, its client gets an error or a broken message, never a
// success that says less than the provider did.
func TestDrippingAnswersAreNoSuccess(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{Settings: "upstream: {callTimeout: 2s}\nindex: {sendWithin: 2s, askTimeout: 2s}\n"})
	w.group(t, "rg")
	var all sync.WaitGroup
	for i, d := range drips() {
		for _, c := range []struct{ method, below, body string }{
			{"GET", "", ""}, {"GET", "/notes/n", ""}, {"POST", "/start", "{}"}, {"GET", "/notes", ""}, {"PUT", "", located("westus")},
		} {
			thing := w.thing("rg", fmt.Sprintf("t%d%s%s", i, c.method, strings.ReplaceAll(c.below, "/", "")))
			w.put(t, thing)
			w.provider.On(c.method, thing+c.below, d.answer)
			all.Go(func() {
				got, err := w.try(c.method, thing+c.below+api, c.body)
				switch {
				case err == nil && got.Status < 500:
					t.Errorf("%s, %s %s: %d with %d bytes", d.name, c.method, c.below, got.Status, len(got.Body))
				case d.want != "" && (err != nil || got.ErrorCode() != d.want):
					t.Errorf("%s, %s %s: %v, %d %s, want %s", d.name, c.method, c.below, err, got.Status, got.Body, d.want)
				}
			})
		}
	}
	all.Wait()
}

// In a batch only that answer fails; the others are not affected.
func TestDrippingAnswersInBatchesAreNoSuccess(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{Settings: "upstream: {callTimeout: 2s}\nindex: {sendWithin: 2s, askTimeout: 2s}\n"})
	w.group(t, "rg")
	for i, d := range drips() {
		if d.name != "half of a small body" && !d.closed {
			continue
		}
		thing := w.thing("rg", fmt.Sprintf("t%d", i))
		w.put(t, thing)
		w.provider.On("GET", thing, d.answer)
		got := w.inBatch(t, "GET", thing+api, nil)
		want := d.want
		if want == "" {
			want = "BadGatewayConnection"
		}
		if got.HTTPStatusCode < 500 || !strings.Contains(string(got.Content), want) {
			t.Errorf("%s: %d %s, want %s", d.name, got.HTTPStatusCode, got.Content, want)
		}
	}
}

// try is as for Alice, but the answer may break off.
func (w world) try(method, path, body string) (harness.Answer, error) {
	h := harness.Header("Authorization", "Bearer "+alice.Raw)
	return w.Portico.Try(context.Background(), harness.Request{Method: method, Path: path, Body: body, Header: h})
}

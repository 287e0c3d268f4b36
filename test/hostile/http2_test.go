package hostile

import (
	"crypto/tls"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"sync/atomic"
	"testing"
	"time"

	"portico/test/harness"
)

// Frames of HTTP/2 and their contents.
const (
	frameHeaders, frameReset, frameSettings, framePing, frameGoAway, frameContinuation = 1, 3, 4, 6, 7, 9

	endStream, endHeaders = 1, 4

	settingStreams, settingHeaderBytes = 3, 6
)

type frame struct {
	kind, flags byte
	stream      uint32
	content     []byte
}

// h2 is an HTTP/2 connection, frame by frame.
type h2 struct{ *tls.Conn }

func (w world) http2(t *testing.T) h2 {
	t.Helper()
	s := w.socket(t, w.Portico.URL, "127.0.0.1")
	c := h2{tls.Client(s.Conn, &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"h2"}})} //nolint:gosec // the server's identity does not matter here
	harness.OK(t, c.HandshakeContext(t.Context()))
	if c.ConnectionState().NegotiatedProtocol != "h2" {
		t.Fatal("the listener does not speak HTTP/2")
	}
	if _, err := io.WriteString(c, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	harness.OK(t, c.send(frame{kind: frameSettings}))
	return c
}

func (c h2) send(frames ...frame) error {
	var raw []byte
	for _, f := range frames {
		raw = append(raw, byte(len(f.content)>>16), byte(len(f.content)>>8), byte(len(f.content)), f.kind, f.flags)
		raw = append(binary.BigEndian.AppendUint32(raw, f.stream), f.content...)
	}
	_, err := c.Write(raw)
	return err
}

func (c h2) receive() (f frame, err error) {
	var head [9]byte
	if _, err := io.ReadFull(c, head[:]); err != nil {
		return f, err
	}
	f = frame{head[3], head[4], binary.BigEndian.Uint32(head[5:]), make([]byte, int(head[0])<<16|int(head[1])<<8|int(head[2]))}
	_, err = io.ReadFull(c, f.content)
	return f, err
}

// ended waits until the other side has closed the connection.
func (c h2) ended() error {
	for {
		f, err := c.receive()
		if errors.Is(err, os.ErrDeadlineExceeded) {
			return err
		}
		if over := err != nil || f.kind == frameGoAway; over {
			return nil
		}
	}
}

// answered waits until the other side has answered a ping or closed the connection.
func (c h2) answered(ping string) error {
	for {
		f, err := c.receive()
		if errors.Is(err, os.ErrDeadlineExceeded) {
			return err
		}
		if over := err != nil || f.kind == frameGoAway; over || f.kind == framePing && string(f.content) == ping {
			return nil
		}
	}
}

// headers encodes header fields without compression.
func headers(pairs ...string) (block []byte) {
	for i, text := range pairs {
		if i%2 == 0 {
			block = append(block, 0) // a literal that is not indexed
		}
		block = append(block, lengthOf(len(text))...)
		block = append(block, text...)
	}
	return block
}

func lengthOf(n int) []byte {
	if n < 0x7f {
		return []byte{byte(n)}
	}
	return append([]byte{0x7f}, binary.AppendUvarint(nil, uint64(n-0x7f))...)
}

func subscriptionHeaders(w world, token string) []byte {
	return headers(":method", "GET", ":scheme", "https", ":authority", "portico", ":path", "/subscriptions/"+ours+api, "authorization", "Bearer "+token)
}

// The gateway announces the limits of an HTTP/2 connection and enforces them.
func TestHTTP2IsBounded(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{TLS: true, Server: "  connections: {idleUnauthenticated: 3s}\n"})

	bounds := w.http2(t)
	f, err := bounds.receive()
	if err != nil || f.kind != frameSettings {
		t.Fatalf("%+v %v", f, err)
	}
	said := map[uint16]uint32{}
	for c := f.content; len(c) >= 6; c = c[6:] {
		said[binary.BigEndian.Uint16(c)] = binary.BigEndian.Uint32(c[2:])
	}
	if n := said[settingStreams]; n == 0 || n > 100 {
		t.Errorf("%d streams at a time", n)
	}
	if n := said[settingHeaderBytes]; n == 0 || n > 36<<10 {
		t.Errorf("%d bytes of headers", n)
	}

	many := http.Header{}
	for n := range 700 {
		many.Set(fmt.Sprintf("x-%d", n), "1")
	}
	w.Portico.Do(t, harness.Request{Path: "/subscriptions/" + ours + api, Header: many}).WantError(t, 431, "InvalidRequestHeader")

	endless := w.http2(t)
	go func() {
		block := subscriptionHeaders(w, alice.Raw)
		err := endless.send(frame{frameHeaders, endStream, 1, block})
		more := headers("x-more", string(make([]byte, 8<<10)))
		for n := 0; err == nil && n < 1<<13; n++ {
			err = endless.send(frame{frameContinuation, 0, 1, more})
		}
	}()
	if err := endless.ended(); err != nil {
		t.Errorf("a header without end: %v", err)
	}

	for name, c := range map[string]func(h2) error{
		"silent":           func(h2) error { return nil },
		"pings":            func(c h2) error { return c.send(frame{framePing, 0, 0, make([]byte, 8)}) },
		"a part of a head": func(c h2) error { return c.send(frame{frameHeaders, endStream, 1, subscriptionHeaders(w, alice.Raw)}) },
		"a bad token": func(c h2) error {
			return c.send(frame{frameHeaders, endStream | endHeaders, 1, subscriptionHeaders(w, "guess")})
		},
	} {
		conn := w.http2(t)
		harness.OK(t, c(conn))
		if err := conn.ended(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Streams that are reset immediately cause no more concurrent calls to the provider
// than streams are allowed. If handlers fall behind, the connection ends.
func TestHTTP2RapidReset(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{TLS: true})
	w.group(t, "rg")
	var now, most, all atomic.Int64
	w.provider.On(http.MethodPost, "/slow", func(_ http.ResponseWriter, r *http.Request) {
		n := now.Add(1)
		defer now.Add(-1)
		all.Add(1)
		for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
		}
		select { // the call of a write continues without its client
		case <-r.Context().Done():
		case <-time.After(time.Second):
		}
	})
	w.put(t, w.thing("rg", "one"))
	block := headers(":method", "POST", ":scheme", "https", ":authority", "portico", ":path", w.thing("rg", "one")+"/slow"+api, "authorization", "Bearer "+alice.Raw)
	c := w.http2(t)
	if err := c.SetDeadline(time.Now().Add(5 * time.Minute)); err != nil { // it logs two lines for each of some thousand streams
		t.Fatal(err)
	}
	go func() {
		for id, err := uint32(1), error(nil); err == nil && id < 20000; id += 2 {
			err = c.send(frame{frameHeaders, endStream | endHeaders, id, block}, frame{frameReset, 0, id, make([]byte, 4)})
		}
		_ = c.send(frame{framePing, 0, 0, []byte("the last")})
	}()
	if err := c.answered("the last"); err != nil {
		t.Errorf("the connection neither ends nor goes on: %v", err)
	}
	if most.Load() > 100 {
		t.Errorf("%d calls reached the provider, %d at a time", all.Load(), most.Load())
	}
	w.as(t, carol, http.MethodGet, w.thing("rg", "one")+api, "").Want(t, 200)
}

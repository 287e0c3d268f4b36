package wire

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
)

// Script entries that are not bytes.
const (
	hangUp = "\x00hang up" // close the connection
	reset  = "\x00reset"   // close it with a TCP reset
)

// scripted is a provider that answers with raw bytes, which an HTTP library would never
// send. Requests without a script get a plain good answer, so that resources can be
// created.
type scripted struct {
	region string
	url    string

	mu      sync.Mutex
	scripts map[string]func(received) string // by part of the path
	seen    []received
	ever    []string // every target since the start; forget keeps it
	open    map[net.Conn]bool
	ended   bool
	serving sync.WaitGroup
}

func startScripted(t *testing.T, region string) *scripted {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &scripted{
		region:  region,
		url:     "http://" + listener.Addr().String(),
		scripts: map[string]func(received) string{},
		open:    map[net.Conn]bool{},
	}
	p.serving.Go(func() {
		for {
			c, err := listener.Accept()
			if err != nil {
				return // closed below
			}
			if !p.track(c, true) {
				return
			}
			p.serving.Go(func() {
				defer p.track(c, false)
				defer func() { _ = c.Close() }()
				p.serve(c)
			})
		}
	})
	t.Cleanup(func() {
		_ = listener.Close()
		p.mu.Lock()
		p.ended = true
		for c := range p.open {
			_ = c.Close()
		}
		p.mu.Unlock()
		p.serving.Wait()
	})
	return p
}

// track records that a connection opened or closed; it refuses new ones at the end.
func (p *scripted) track(c net.Conn, open bool) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !open {
		delete(p.open, c)
		return true
	}
	if p.ended {
		_ = c.Close()
		return false
	}
	p.open[c] = true
	return true
}

// on sets the answer to every request whose path holds part.
func (p *scripted) on(part string, answer func(received) string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.scripts[part] = answer
}

// always is a script of one answer.
func always(answer string) func(received) string { return func(received) string { return answer } }

func (p *scripted) forget() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.seen = nil
}

// everSaw reports whether any request so far had part in its target.
func (p *scripted) everSaw(part string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.ContainsFunc(p.ever, func(target string) bool { return strings.Contains(target, part) })
}

func (p *scripted) received() []received {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]received(nil), p.seen...)
}

// serve answers the requests of one connection until it ends or a script ends it.
// Connections stay open between requests: a client that repeats writes does so only on
// a reused connection.
func (p *scripted) serve(c net.Conn) {
	r := bufio.NewReader(c)
	for {
		x, err := p.read(r)
		if err != nil {
			return
		}
		answer := p.answer(x)
		switch answer {
		case hangUp:
			return
		case reset:
			if tcp, ok := c.(*net.TCPConn); ok {
				_ = tcp.SetLinger(0)
			}
			return
		}
		if _, err := io.WriteString(c, answer); err != nil {
			return
		}
		if !strings.Contains(answer, "Content-Length:") || strings.Contains(answer, "Connection: close") {
			return
		}
	}
}

func (p *scripted) read(r *bufio.Reader) (received, error) {
	var head bytes.Buffer
	for {
		line, err := r.ReadBytes('\n')
		head.Write(line)
		if err != nil {
			return received{}, err
		}
		if len(bytes.TrimRight(line, "\r\n")) == 0 {
			break
		}
	}
	req, err := http.ReadRequest(bufio.NewReader(io.MultiReader(bytes.NewReader(head.Bytes()), r)))
	if err != nil {
		// The gateway must send nothing unreadable; the record reports it.
		p.note(received{region: p.region, method: "(unreadable)", head: head.String()})
		return received{}, err
	}
	x := received{
		region: p.region, method: req.Method, target: req.RequestURI,
		header: req.Header, head: head.String(),
	}
	x.body, err = io.ReadAll(req.Body)
	p.note(x)
	if err != nil {
		return received{}, errors.Join(err, req.Body.Close())
	}
	return x, req.Body.Close()
}

func (p *scripted) note(x received) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.seen = append(p.seen, x)
	p.ever = append(p.ever, x.target)
}

func (p *scripted) answer(x received) string {
	p.mu.Lock()
	var script func(received) string
	longest := -1
	for part, s := range p.scripts {
		if strings.Contains(x.target, part) && len(part) > longest {
			script, longest = s, len(part)
		}
	}
	p.mu.Unlock()
	if script != nil {
		return script(x)
	}
	path, _, _ := strings.Cut(x.target, "?")
	name := path[strings.LastIndexByte(path, '/')+1:]
	region := strings.TrimPrefix(p.region, "raw ")
	resource := fmt.Sprintf(`{"id":%q,"name":%q,"type":"Contoso.Raw/things","location":%q,"properties":{}}`, path, name, region)
	switch x.method {
	case http.MethodPut:
		return ok(201, resource)
	case http.MethodDelete:
		return ok(200, "")
	}
	return ok(200, resource)
}

// ok is an answer with a JSON body and, before it, further header lines.
func ok(status int, body string, header ...string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "HTTP/1.1 %d %s\r\n", status, http.StatusText(status))
	for _, line := range header {
		b.WriteString(line + "\r\n")
	}
	if body != "" {
		b.WriteString("Content-Type: application/json\r\n")
	}
	fmt.Fprintf(&b, "Content-Length: %d\r\n\r\n%s", len(body), body)
	return b.String()
}

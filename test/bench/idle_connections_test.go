package bench

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"portico/test/bench/peers"
	"portico/test/harness"
)

const (
	idleConnections = 10_000
	idleAtOnce      = 32 // are made at a time
	idleSettles     = 30 * time.Second
)

// BenchmarkIdleConnections measures what a gateway holds in memory for connections
// that wait after one request each, after a collection of garbage.
func BenchmarkIdleConnections(b *testing.B) {
	for _, c := range []struct {
		name     string
		tls      bool
		protocol string
	}{{"http", false, ""}, {"https", true, "http/1.1"}, {"h2", true, "h2"}} {
		b.Run(c.name, func(b *testing.B) {
			contoso := harness.StartContoso(b, "westus", harness.ContosoOptions{})
			p := harness.StartPortico(b, harness.Config{
				Endpoints: map[string]string{"westus": contoso.URL, "eastus": contoso.URL, "northeurope": contoso.URL, "global": contoso.URL}, TLS: c.tls,
				Server: fmt.Sprintf("  connections: {all: %d, perAddress: %[1]d, idle: 1h}\n", idleConnections+100),
			})
			p.Do(b, harness.Request{Method: http.MethodPut, Path: "/subscriptions/" + harness.SubscriptionID + "/resourcegroups/rg?api-version=2021-04-01", Body: `{"location":"westus"}`}).Want(b, 201)
			path := "/subscriptions/" + harness.SubscriptionID + "/resourceGroups/rg/providers/Contoso.Compute/virtualMachines/vm?api-version=" + harness.Version
			p.Do(b, harness.Request{Method: http.MethodPut, Path: path, Body: `{"location":"westus"}`})
			dial := dialer{address: strings.TrimPrefix(strings.TrimPrefix(p.URL, "https://"), "http://"), path: path, protocol: c.protocol}
			if c.tls {
				authority, err := os.ReadFile(p.AuthorityFile)
				harness.OK(b, err)
				pool := x509.NewCertPool()
				pool.AppendCertsFromPEM(authority)
				dial.config = &tls.Config{RootCAs: pool, ServerName: "127.0.0.1", NextProtos: []string{c.protocol}, MinVersion: tls.VersionTLS13}
			}
			for b.Loop() {
				empty := settled(b, p)
				full := dial.hold(b, func() float64 { return settled(b, p) })
				b.ReportMetric(full/1e6, "MB")
				b.ReportMetric((full-empty)/idleConnections/1024, "KiB/connection")
			}
			b.ReportMetric(0, "ns/op")
		})
	}
}

// settled is the memory that a gateway holds once it had time to give back what it
// does not need.
func settled(b *testing.B, p *harness.Portico) float64 {
	b.Helper()
	for end := time.Now().Add(idleSettles); time.Now().Before(end); time.Sleep(idleSettles / 6) {
		p.Admin(b, harness.Request{Path: "/debug/pprof/heap?gc=1"}).Want(b, http.StatusOK)
	}
	now, _, err := peers.Memory(p.Pid())
	if err != nil {
		b.Skipf("memory is read from /proc: %v", err)
	}
	return float64(now)
}

// dialer makes connections over which one request was answered.
type dialer struct {
	address, path, protocol string
	config                  *tls.Config // nil: without TLS
}

// hold calls measure while all connections are open.
func (d dialer) hold(b *testing.B, measure func() float64) float64 {
	b.Helper()
	ctx, cancel := context.WithTimeout(b.Context(), 5*time.Minute)
	defer cancel()
	jobs, created := make(chan int), make(chan net.Conn, idleConnections)
	failed := make(chan error, idleAtOnce)
	for range idleAtOnce {
		go func() {
			for range jobs {
				c, err := d.connect(ctx)
				if err != nil {
					failed <- err
					return
				}
				created <- c
			}
		}()
	}
	var failure error
	for i := 0; i < idleConnections && failure == nil; i++ {
		select {
		case jobs <- i:
		case failure = <-failed:
		}
	}
	close(jobs)
	open := make([]net.Conn, 0, idleConnections)
	defer func() {
		for _, c := range open {
			_ = c.Close()
		}
	}()
	for failure == nil && len(open) < idleConnections {
		select {
		case c := <-created:
			open = append(open, c)
		case failure = <-failed:
		}
	}
	if failure != nil {
		b.Fatal(failure)
	}
	return measure()
}

func (d dialer) connect(ctx context.Context) (net.Conn, error) {
	c, err := new(net.Dialer).DialContext(ctx, "tcp", d.address)
	if err != nil {
		return nil, err
	}
	if d.config != nil {
		session := tls.Client(c, d.config)
		if err := session.HandshakeContext(ctx); err != nil {
			return nil, err
		}
		c = session
	}
	if d.protocol == "h2" {
		return c, d.askHTTP2(c)
	}
	return c, d.ask(c)
}

func (d dialer) ask(c net.Conn) error {
	if _, err := fmt.Fprintf(c, "GET %s HTTP/1.1\r\nHost: %s\r\n\r\n", d.path, d.address); err != nil {
		return err
	}
	response, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if _, err = io.Copy(io.Discard, response.Body); err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("status %d", response.StatusCode)
	}
	return err
}

// Of HTTP/2 (RFC 9113) and its headers' coding (RFC 7541).
const (
	frameHeaders, frameSettings = 1, 4
	flagAck, flagEndStream      = 1, 1
	flagEndHeaders              = 4
	status200                   = 0x88
)

// askHTTP2 makes one request in as many frames as that takes: a transport would add
// memory of its own to each connection.
func (d dialer) askHTTP2(c net.Conn) error {
	literal := func(index byte, value string) []byte {
		return append([]byte{index, 0x7f, byte(len(value) - 0x7f)}, value...)
	}
	short := func(index byte, value string) []byte { return append([]byte{index, byte(len(value))}, value...) }
	block := append([]byte{0x82, 0x87}, short(0x01, d.address)...) // GET, https, :authority
	block = append(block, literal(0x04, d.path)...)                // :path, of 127 bytes to 254
	request := append([]byte("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"), frame(frameSettings, 0, 0, nil)...)
	if _, err := c.Write(append(request, frame(frameHeaders, flagEndStream|flagEndHeaders, 1, block)...)); err != nil {
		return err
	}
	answers := bufio.NewReader(c)
	for {
		head := make([]byte, 9)
		if _, err := io.ReadFull(answers, head); err != nil {
			return err
		}
		body := make([]byte, int(head[0])<<16|int(head[1])<<8|int(head[2]))
		if _, err := io.ReadFull(answers, body); err != nil {
			return err
		}
		kind, flags, stream := head[3], head[4], binary.BigEndian.Uint32(head[5:])
		switch {
		case kind == frameSettings && flags&flagAck == 0:
			if _, err := c.Write(frame(frameSettings, flagAck, 0, nil)); err != nil {
				return err
			}
		case kind == frameHeaders && body[0] != status200:
			return fmt.Errorf("the headers begin with %#x, which is no status 200", body[0])
		}
		if stream == 1 && flags&flagEndStream != 0 {
			return nil
		}
	}
}

func frame(kind, flags byte, stream uint32, body []byte) []byte {
	head := []byte{byte(len(body) >> 16), byte(len(body) >> 8), byte(len(body)), kind, flags}
	return append(binary.BigEndian.AppendUint32(head, stream), body...)
}

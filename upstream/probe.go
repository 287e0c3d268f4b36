package upstream

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"sync"
	"time"

	"go.uber.org/zap"

	"portico/regions/health"
)

// Health configures how addresses are assessed and probed.
type Health struct {
	health.Settings
	Probing
}

// Probing configures probes. Each uses a new connection.
type Probing struct {
	// Path is requested by GET; a status below 400 is success. Without a path
	// the probe only connects, with a TLS handshake for https.
	Path     string
	Interval time.Duration // between two probes of an address; 0: none
	// Suspect is the interval while something is wrong, if it is shorter.
	Suspect time.Duration
	Timeout time.Duration // of one probe
}

// maxProbeAnswer bounds the bytes read of a probe's answer.
const maxProbeAnswer = 64 << 10

// prober probes one address until it is stopped.
type prober struct {
	client  *Client
	pool    *pool
	address *health.Address
	wake    chan struct{} // makes the next probe due
	stop    context.CancelFunc
}

// Run probes the addresses of the current map, each in a goroutine, until ctx ends;
// it returns when all goroutines have.
func (c *Client) Run(ctx context.Context) {
	var running sync.WaitGroup
	defer running.Wait()
	for {
		c.reconcileProbers(ctx, &running)
		select {
		case <-ctx.Done():
			return
		case <-c.probersDue:
		}
	}
}

// reconcileProbers starts missing probers and stops superfluous ones.
func (c *Client) reconcileProbers(ctx context.Context, running *sync.WaitGroup) {
	c.mu.Lock()
	defer c.mu.Unlock()
	wanted := map[*health.Address]*pool{}
	if c.probing.Load().Interval > 0 {
		for _, t := range c.mapTargets {
			for i, a := range t.addresses.Addresses() {
				wanted[a] = t.pools[i]
			}
		}
	}
	for a, p := range c.probers {
		if wanted[a] == nil {
			p.stop()
			delete(c.probers, a)
		}
	}
	for a, pool := range wanted {
		if p := c.probers[a]; p != nil {
			p.probeNow() // the interval may have changed
			continue
		}
		probing, stop := context.WithCancel(ctx)
		p := &prober{client: c, pool: pool, address: a, wake: make(chan struct{}, 1), stop: stop}
		c.probers[a] = p
		running.Go(func() { p.run(probing) })
	}
}

func (p *prober) probeNow() {
	select {
	case p.wake <- struct{}{}:
	default: // it is due already
	}
}

func (p *prober) run(ctx context.Context) {
	p.address.SetProbed(true)
	defer p.address.SetProbed(false)
	// Spread the first probes of many addresses.
	pause := rand.N(p.client.probing.Load().Interval + 1) //nolint:gosec // jitter needs no secrecy
	for p.wait(ctx, pause) {
		settings := p.client.probing.Load()
		outcome, detail := p.probe(ctx, settings)
		if ctx.Err() != nil {
			return
		}
		p.address.Advance(p.client.now())
		p.address.RecordProbe(p.client.now(), outcome, detail)
		pause = settings.Interval
		if p.address.NeedsProbe() && settings.Suspect > 0 {
			pause = min(pause, settings.Suspect)
		}
		pause = pause*9/10 + rand.N(pause/5+1) //nolint:gosec // as above
	}
}

// wait returns false once ctx has ended.
func (p *prober) wait(ctx context.Context, pause time.Duration) bool {
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
	case <-p.wake:
	}
	return ctx.Err() == nil
}

func (p *prober) probe(ctx context.Context, settings *Probing) (outcome health.ProbeOutcome, detail string) {
	ctx, cancel := context.WithTimeout(ctx, settings.Timeout)
	defer cancel()
	speaks := []string{"h2", "http/1.1"} // like reads
	if settings.Path != "" {
		speaks = speaks[1:] // the GET uses HTTP/1.1
	}
	conn, err := p.connect(ctx, speaks)
	if err != nil {
		return health.ProbeUnreachable, connectFailureReason(err)
	}
	if settings.Path == "" {
		_ = conn.Close() // connecting was the probe
		return health.ProbeSucceeded, ""
	}
	status, err := p.get(ctx, conn, settings.Path)
	switch {
	case err != nil && ctx.Err() != nil:
		return health.ProbeFailed, fmt.Sprintf("no answer within %v", settings.Timeout)
	case err != nil:
		return health.ProbeFailed, "it broke off: " + connectFailureReason(err)
	case status >= http.StatusBadRequest:
		return health.ProbeFailed, fmt.Sprintf("it answered %d", status)
	}
	return health.ProbeSucceeded, ""
}

// connect makes a connection like a call, offering these protocols.
func (p *prober) connect(ctx context.Context, speaks []string) (net.Conn, error) {
	host, port := p.pool.base.Hostname(), p.pool.base.Port()
	secured := p.pool.base.Scheme == "https"
	switch {
	case port != "":
	case secured:
		port = "443"
	default:
		port = "80"
	}
	dialer := &net.Dialer{}
	if !secured {
		return dialer.DialContext(ctx, "tcp", net.JoinHostPort(host, port))
	}
	settings := p.client.tlsConfig(p.pool)
	settings.NextProtos = speaks
	conn, err := (&tls.Dialer{NetDialer: dialer, Config: settings}).DialContext(ctx, "tcp", net.JoinHostPort(host, port))
	if secured, ok := conn.(*tls.Conn); ok {
		// Calls may keep using connections from before the certificate was renewed.
		p.pool.series.recordCertificate(secured.ConnectionState())
	}
	return conn, err
}

// get sends a GET over a connection, and closes it.
func (p *prober) get(ctx context.Context, conn net.Conn, path string) (status int, err error) {
	transport := &http.Transport{
		DisableKeepAlives: true, DisableCompression: true, MaxResponseHeaderBytes: maxResponseHeader,
		DialContext:    func(context.Context, string, string) (net.Conn, error) { return conn, nil },
		DialTLSContext: func(context.Context, string, string) (net.Conn, error) { return conn, nil },
	}
	defer conn.Close()
	target, err := url.ParseRequestURI(path) // not url.Parse: it has no host
	if err != nil {
		return 0, err
	}
	target.Scheme, target.Host = p.pool.base.Scheme, p.pool.base.Host
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, target.String(), http.NoBody)
	if err != nil {
		return 0, err
	}
	r.Header.Set("User-Agent", "portico-probe")
	response, err := transport.RoundTrip(r)
	if err != nil {
		return 0, err
	}
	defer response.Body.Close()
	_, err = io.CopyN(io.Discard, response.Body, maxProbeAnswer)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return response.StatusCode, err
}

// logHealthChange logs a change of an address. If calls opened its circuit,
// it triggers a probe to confirm.
func (c *Client) logHealthChange(change health.Change) {
	a := change.Address
	level := c.log.Info
	switch {
	case change.Trial:
		level = c.log.Debug
	case !change.Up:
		level = c.log.Warn
	}
	level("the health of an address changed", zap.String("region", a.Region), zap.String("endpoint", a.Name),
		zap.Bool("up", change.Up), zap.Stringer("circuit", change.Circuit), zap.String("reason", change.Reason))
	if change.Circuit != health.Open {
		return
	}
	c.mu.Lock()
	p := c.probers[a]
	c.mu.Unlock()
	if p != nil {
		p.probeNow()
	}
}

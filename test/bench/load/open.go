package load

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"
)

// Open is an open loop of Rate requests per second. Its requests have no content.
type Open struct {
	URL         string
	Connections int
	Rate        int
	For         time.Duration
	Request     Request
}

// Run runs the load. It fails if an answer is an error or takes longer than ten seconds
// after the end.
func (o Open) Run(ctx context.Context) (Result, error) {
	address, found := strings.CutPrefix(o.URL, "http://")
	if !found {
		return Result{}, fmt.Errorf("%s is not reached by plain HTTP", o.URL)
	}
	ctx, cancel := context.WithTimeout(ctx, o.For+10*time.Second)
	defer cancel()
	n := int(o.For.Seconds() * float64(o.Rate))
	run := openRun{
		messages: o.Request.messages(address),
		times:    make([]time.Duration, n),
		due:      make(chan int, n), // room for all: a proxy that stalls delays no sending
		begin:    time.Now().Add(50 * time.Millisecond),
		pause:    time.Second / time.Duration(o.Rate),
	}
	var connections []net.Conn
	defer func() {
		for _, c := range connections {
			_ = c.Close()
		}
	}()
	for range o.Connections {
		c, err := new(net.Dialer).DialContext(ctx, "tcp", address)
		if err != nil {
			return Result{}, err
		}
		connections = append(connections, c)
		if err := c.SetDeadline(run.begin.Add(o.For + 10*time.Second)); err != nil {
			return Result{}, err
		}
	}
	failures := make(chan error, len(connections))
	var senders sync.WaitGroup
	for _, c := range connections {
		senders.Go(func() { failures <- run.send(c) })
	}
	run.pace(ctx)
	senders.Wait()
	elapsed := time.Since(run.begin)
	close(failures)
	var failed error
	for err := range failures {
		failed = errors.Join(failed, err)
	}
	if failed != nil {
		return Result{}, failed
	}
	return Result{Requests: n, Elapsed: elapsed, P50: percentile(run.times, 0.5), P99: percentile(run.times, 0.99)}, nil
}

// messages returns the requests as they are sent.
func (r Request) messages(host string) [][]byte {
	var all [][]byte
	for n := range max(len(r.Paths), len(r.Tokens)) {
		authorization := ""
		if len(r.Tokens) > 0 {
			authorization = "Authorization: Bearer " + r.Tokens[n%len(r.Tokens)] + "\r\n"
		}
		all = append(all, fmt.Appendf(nil, "%s %s HTTP/1.1\r\nHost: %s\r\n%s\r\n", r.Method, r.Paths[n%len(r.Paths)], host, authorization))
	}
	return all
}

// openRun is one run: request i is due at begin + i × pause, and times[i] is the time from
// then until its answer is complete.
type openRun struct {
	messages [][]byte
	times    []time.Duration
	due      chan int
	begin    time.Time
	pause    time.Duration
}

// at returns when a request is due.
func (r *openRun) at(i int) time.Time { return r.begin.Add(time.Duration(i) * r.pause) }

// pace passes each request to the senders when it is due.
func (r *openRun) pace(ctx context.Context) {
	defer close(r.due)
	for i := range r.times {
		sleepUntil(r.at(i))
		if ctx.Err() != nil {
			return
		}
		r.due <- i
	}
}

// send sends due requests over one connection until there are no more.
func (r *openRun) send(c net.Conn) error {
	answers := bufio.NewReader(c)
	for i := range r.due {
		if _, err := c.Write(r.messages[i%len(r.messages)]); err != nil {
			return err
		}
		answer, err := http.ReadResponse(answers, nil)
		if err != nil {
			return err
		}
		_, err = io.Copy(io.Discard, answer.Body)
		if err := errors.Join(err, answer.Body.Close()); err != nil {
			return err
		}
		r.times[i] = time.Since(r.at(i))
		if answer.StatusCode >= http.StatusBadRequest || answer.Close {
			return fmt.Errorf("an answer of %s, the last of its connection: %t", answer.Status, answer.Close)
		}
	}
	return nil
}

package contoso

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"portico/provider/contoso/fault"
)

// misbehave answers the call with its fault, normally if it has none, and
// returns the status that was sent (0 for a reset connection).
func (p *Provider) misbehave(w http.ResponseWriter, r *http.Request, c *call) int {
	if a, refused := p.refusal(c); refused {
		a.send(w)
		return a.status
	}
	switch c.fault.Name {
	case fault.ResetBefore:
		reset(w)
		return 0
	case fault.Late:
		c.known = p.stateAtArrival(c)
		reset(w)
		if p.wait(c.fault.Duration, nil) {
			p.answer(c)
		}
		return 0
	case fault.Delay:
		// The write continues if the client leaves meanwhile.
		if !p.wait(c.fault.Duration, nil) {
			reset(w)
			return 0
		}
	}
	return p.spoil(w, r, c.fault, c.misprint(p.answer(c)))
}

// stateAtArrival returns the state of the call's subscription; "" if it is unknown.
func (p *Provider) stateAtArrival(c *call) (state string) {
	_, _ = p.transact(func(x *tx) (answer, error) { // an error here occurs again when the call is applied
		state = x.stateFor(c.address)
		return answer{}, nil
	})
	return state
}

// refusal answers for faults that prevent the call from being carried out.
func (p *Provider) refusal(c *call) (answer, bool) {
	switch f := c.fault; f.Name {
	case fault.Status:
		if !bodyAllowed(f.Number) {
			return emptyAnswer(f.Number), true
		}
		return failed(fail(f.Number, "ContosoFault", "The request was answered with %d as asked.", f.Number)), true
	case fault.Quote:
		return failed(badRequest("ContosoQuote", "The content '%s' cannot be used ('%s', '%s').", c.body, base64.StdEncoding.EncodeToString(c.body),
			url.QueryEscape(string(c.body)))), true
	case fault.Refuse:
		return refused(c), f.Mode == "" || c.method == http.MethodGet
	case fault.Throttle:
		a := failed(fail(http.StatusTooManyRequests, "TooManyRequests", "The request was throttled as asked."))
		a.header.Set("Retry-After", strconv.Itoa(f.Number))
		return a, true
	case fault.HTML:
		return emptyAnswer(http.StatusOK).page(), true
	case fault.Redirect:
		a := emptyAnswer(http.StatusTemporaryRedirect)
		a.header.Set("Location", c.own+c.uri)
		return a, true
	case fault.RefuseUntil, fault.BlockedBy:
		return p.refuseWhileHeld(f)
	case fault.Busy:
		return p.refuseWhileBusy(c)
	case fault.NotFound:
		return absence(f.Code), true
	case fault.HiddenFromClients:
		return failed(notFound("ResourceNotFound", "The resource '%s' was not found by this caller.", c.address.id())), fault.FromClient(c.header)
	}
	return answer{}, false
}

func (p *Provider) refuseWhileHeld(f fault.Fault) (answer, bool) {
	held := false
	_, err := p.transact(func(x *tx) (answer, error) {
		held = x.resource(fold(f.ID)) != nil
		return answer{}, nil
	})
	if err != nil {
		return failed(err), true
	}
	if f.Name == fault.BlockedBy {
		return failed(fail(http.StatusConflict, "ResourceInUse", "The resource is in use.")), held
	}
	return failed(fail(http.StatusConflict, "ResourceInUse", "The resource is in use by the resource '%s'.", f.ID)), held
}

// refuseWhileBusy refuses a call while an accepted write of its resource, or of one below
// it, runs.
func (p *Provider) refuseWhileBusy(c *call) (answer, bool) {
	key, busy := c.address.key(), false
	_, err := p.transact(func(x *tx) (answer, error) {
		for _, o := range x.running {
			busy = busy || o.Kind == writeOperation && (o.Key == key || strings.HasPrefix(o.Key, key+"/"))
		}
		return answer{}, nil
	})
	if err != nil {
		return failed(err), true
	}
	return failed(fail(c.fault.Number, c.fault.Code, "Another operation on the resource '%s' is in progress. Wait until it has ended.", c.address.id())), busy
}

// spoil sends the answer with the fault applied.
func (p *Provider) spoil(w http.ResponseWriter, r *http.Request, f fault.Fault, a answer) int {
	switch f.Name {
	case fault.ResetAfter:
		reset(w)
		return 0
	case fault.Slow:
		p.wait(f.Duration, r.Context().Done())
	case fault.CutAnswer:
		sendHalf(w, a)
		return a.status
	case fault.Stall:
		p.stall(w, r, a)
		return a.status
	case fault.Big, fault.BigChunked:
		sendBig(w, f)
		return http.StatusOK
	case fault.BadJSON:
		a.body = []byte(`{"value":[{"id":"/subscr`)
		a.header.Set("Content-Type", jsonContent)
		if !bodyAllowed(a.status) {
			a.status = http.StatusOK
		}
	case fault.Unreadable:
		a = a.unreadable(f.Text)
	case fault.HopHeaders:
		for k, v := range map[string]string{
			"Connection": "X-Hop", "X-Hop": "1", "Keep-Alive": "timeout=5", "Alt-Svc": `h3=":443"`, "Server": "Contoso/1.0",
			"X-Powered-By": "Contoso", "x-ms-correlation-request-id": "00000000-0000-0000-0000-00000000c0de",
		} {
			a.header.Set(k, v)
		}
	}
	if !p.breaks[headWithBody] || r.Method != http.MethodHead || !sendHeadWithBody(w, a) {
		a.send(w)
	}
	return a.status
}

// stall sends half of the announced body and hangs.
func (p *Provider) stall(w http.ResponseWriter, r *http.Request, a answer) {
	if len(a.body) == 0 {
		a.status, a.body = http.StatusOK, []byte(`{"value":[]}`)
	}
	a.copyHeader(w)
	w.Header().Set("Content-Length", strconv.Itoa(len(a.body)))
	w.WriteHeader(a.status)
	_, _ = w.Write(a.body[:len(a.body)/2])
	_ = http.NewResponseController(w).Flush()
	p.wait(fault.StallTime, r.Context().Done())
}

// sendBig sends well-formed JSON of exactly the size in the fault, without
// keeping it in memory.
func sendBig(w http.ResponseWriter, f fault.Fault) {
	const head, tail = `{"value":[],"padding":"`, `"}`
	w.Header().Set("Content-Type", jsonContent)
	if f.Name == fault.Big {
		w.Header().Set("Content-Length", strconv.Itoa(f.Number))
	}
	w.WriteHeader(http.StatusOK)
	// The client may close the connection at any point.
	_ = http.NewResponseController(w).Flush()
	_, _ = fmt.Fprint(w, head)
	filler := bytes.Repeat([]byte("a"), 32<<10)
	for left := f.Number - len(head) - len(tail); left > 0; {
		n, err := w.Write(filler[:min(left, len(filler))])
		if err != nil {
			return
		}
		left -= n
	}
	_, _ = io.WriteString(w, tail)
}

// reset closes the connection with RST, so that the client sees neither an
// answer nor a proper end.
func reset(w http.ResponseWriter) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		panic(http.ErrAbortHandler) // the closest that other transports offer
	}
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	_ = conn.Close()
}

// wait waits for d, or until gone is closed. It returns false if the provider
// closes first.
func (p *Provider) wait(d time.Duration, gone <-chan struct{}) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-gone:
	case <-p.closing:
		return false
	}
	return true
}

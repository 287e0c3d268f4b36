package proxy

import (
	"errors"
	"io"
	"net/http"
	"strings"

	"portico/arm"
	"portico/fanout"
	"portico/gateway/exchange"
	"portico/upstream"
)

// checkName asks all regions of a type whether a name is free, and combines their
// answers.
func (p *Proxy) checkName(w http.ResponseWriter, r *http.Request, x *exchange.Exchange, d *Resolved) error {
	check := fanout.NameCheck{Send: p.Upstream.Do, Namespace: x.Request.Provider.Namespace, Caller: x.Caller(), ReceivedAt: x.Started}
	for _, e := range d.Endpoints {
		call := p.outbound(r, x, d, r.Method)
		call.Endpoint = e
		check.Calls = append(check.Calls, call)
	}
	chargeRegions(x)(len(check.Calls))
	answer, err := p.Lister.CheckName(r.Context(), check)
	if p.Activity != nil {
		if fault, ok := errors.AsType[*arm.Error](err); ok {
			call, sent := errors.AsType[*upstream.Fault](err)
			p.Activity.Unanswered(r.Context(), x, fault, sent && call.Sent)
		} else if err == nil {
			p.Activity.Answered(r.Context(), x, http.StatusOK, false, nil)
		}
	}
	if err != nil {
		return err
	}
	if len(answer.RequestIDs) > 0 {
		w.Header()[originalRequestsIDs] = []string{strings.Join(answer.RequestIDs, ";")}
	}
	x.SendJSON(r.Context(), w, int64(len(answer.Body)), func(w io.Writer) error {
		_, err := w.Write(answer.Body)
		return err
	})
	return nil
}

package gateway

import (
	"net/http"
	"time"

	"portico/gateway/exchange"
	"portico/routing"
)

// observe writes the lines of the logs and counts, once per request, after its
// answer, on the goroutine that made it.
func (g *Gateway) observe(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		recorder := &recorder{ResponseWriter: w, status: http.StatusOK, limit: g.deliveryTime()}
		broken := true // unless next returns
		defer func() { g.record(exchange.From(r), r, recorder, broken) }()
		if g.metrics.measures {
			g.metrics.inFlight.Inc()
			defer g.metrics.inFlight.Dec()
		}
		next.ServeHTTP(recorder, r)
		broken = false
	})
}

func (g *Gateway) record(x *exchange.Exchange, r *http.Request, answer *recorder, broken bool) {
	ended := time.Now()
	class := routing.NoRoute
	if x.Request != nil {
		class = x.Request.Class
	}
	provider, calls, address := x.Calls.Total()
	took := measured{ended, ended.Sub(x.Started), provider, calls}
	if g.metrics.measures {
		g.metrics.sent.Add(float64(answer.bytes))
		g.metrics.answered(x, class, r.Method, answer.status)
		g.metrics.timed(x, class, took)
	}
	outcome := outcomeOf(answer.status, broken)
	g.access.write(accessLine{measured: took, x: x, r: r, answer: answer, class: class, outcome: outcome, address: address})
	if exchange.Changes(r.Method) {
		g.audited(auditLine{x: x, method: r.Method, status: answer.status, outcome: outcome, batched: x.Batched})
	}
}

// deliveryTime bounds any answer that [exchange.Exchange.SendJSON] does not: a
// provider's comes as fast as the provider sends it.
func (g *Gateway) deliveryTime() time.Duration {
	return g.config.Upstream.CallTimeout + exchange.DeliveryTime(g.config.Limits.AnswerBody)
}

func methodLabel(method string) string {
	if exchange.CheckMethod(method) == nil {
		return method
	}
	return "OTHER"
}

// recorder notes what an answer was.
type recorder struct {
	http.ResponseWriter
	status int
	bytes  int64
	begun  bool
	limit  time.Duration // for the client to take the answer, from its beginning; 0: none
}

func (w *recorder) WriteHeader(status int) {
	w.ResponseWriter.WriteHeader(status) // panics at what is no status
	if !w.begun {
		w.status = status
		w.begin()
	}
}

func (w *recorder) Write(p []byte) (int, error) {
	if !w.begun {
		w.begin()
	}
	n, err := w.ResponseWriter.Write(p)
	w.bytes += int64(n)
	return n, err
}

func (w *recorder) begin() {
	w.begun = true
	if w.limit == 0 {
		return
	}
	_ = http.NewResponseController(w.ResponseWriter).SetWriteDeadline(time.Now().Add(w.limit)) // not every writer has a connection
}

// Unwrap lets http.ResponseController reach the connection.
func (w *recorder) Unwrap() http.ResponseWriter { return w.ResponseWriter }

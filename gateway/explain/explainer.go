package explain

import (
	"context"
	"net/http"
	"time"

	"portico/access"
	"portico/arm"
	"portico/config"
	"portico/gateway/admin/api"
	"portico/gateway/admission"
	"portico/gateway/chain"
	"portico/gateway/exchange"
	"portico/gateway/preflight"
	"portico/gateway/throttle"
	"portico/inventory"
	"portico/upstream"
)

// Explainer explains requests by one configuration.
type Explainer struct {
	Config        *config.Config
	Store         *inventory.Store
	Upstream      *upstream.Client
	Authenticator access.Authenticator
	Throttle      *throttle.Throttle
	Preflight     *preflight.Preflight
	// Rehearse returns the links of a chain at whose end each write is rolled back, and each
	// call to a provider noted, but for searches if asks. allowsAll: no role is needed.
	Rehearse func(calls *Calls, allowsAll, asks bool) *chain.Links
}

// explainTime bounds an explanation: what waits for providers, or for writes that are
// under way, waits for no more.
const explainTime = 30 * time.Second

// Explain says which way a request would take, without sending it. It changes nothing,
// except that answers of providers are recorded if the question allows asking them. The
// error is an *arm.Error where there is no such request, or the store's.
func (e *Explainer) Explain(ctx context.Context, q api.Question) (api.Explanation, error) {
	ctx, cancel := context.WithTimeout(ctx, explainTime)
	defer cancel()
	if fault := checkQuestion(&q); fault != nil {
		return api.Explanation{}, fault
	}
	request := Request{SignsIn: q.Token != "", Raw: len(q.Raw) > 0, ask: q.Ask, content: q.Content}
	var fault *arm.Error
	if request.Raw {
		var unread *api.Explanation
		if request.Request, unread = e.readRaw(ctx, q.Raw); unread != nil {
			return *unread, nil
		}
		q.Method = request.Method
		q.Path, _ = chain.Target(request.Request)
		request.SignsIn = q.Principal == ""
	} else {
		e.complete(&q)
		header := http.Header{}
		for name, value := range q.Header {
			header.Set(name, value)
		}
		if request.Request, fault = exchange.NewRequest(ctx, q.Method, q.Path, header, q.Content); fault != nil {
			return api.Explanation{}, fault
		}
	}
	if fault := request.addToken(q.Token); fault != nil {
		return api.Explanation{}, fault
	}
	var err error
	if request.who, request.Roles, err = e.caller(ctx, q, request.SignsIn); err != nil {
		return api.Explanation{}, err
	}
	return e.Walk(request)
}

// Request is a request that is explained, and its assumed caller.
type Request struct {
	*http.Request
	Roles   string // what they mean to it, as package api has it
	SignsIn bool   // it signs in by its own credentials instead of a named principal
	Raw     bool   // it is as a client sent it: its host counts
	who     access.Principal
	ask     bool
	content string // "" also of one whose bytes are given
}

// Walk sends a request through handlers that call no provider.
func (e *Explainer) Walk(of Request) (api.Explanation, error) {
	calls := NewCalls(e.Upstream)
	links := e.Rehearse(calls, of.Roles == api.RolesSkipped, of.ask)
	walked := Walked{Method: of.Method, Calls: calls, Roles: of.Roles, Answer: exchange.CaptureBeginning()}
	checks := []chain.Check{walked.begin(links)}
	if of.Raw {
		checks = append(checks, links.GuardHost)
	}
	read := func(http.ResponseWriter, *http.Request) (goesOn bool) {
		walked.Read = true
		return true
	}
	way := links.Inner(append(checks, walked.signsIn(links, of), links.Classify, read, e.Throttle.Explain)...)
	fault := walked.Answer.Hold(of.RequestURI, func() { way.ServeHTTP(walked.Answer, of.Request) })
	if fault != nil {
		return api.Explanation{}, fault
	}
	if walked.Read {
		var err error
		if walked.Locks, err = admission.LocksOver(of.Context(), e.Store.Locks, walked.Exchange); err != nil {
			return api.Explanation{}, err
		}
	}
	said := walked.Explanation()
	said.Judges = e.judges(of, &walked, said.Verdict)
	if of.content == "" && !of.Raw && walked.Read {
		said.Verdict.Summary = withoutContent(of.Method, said.Verdict)
	}
	return said, nil
}

// withoutContent is the summary of a question that has no content. If the request needs one,
// it says so first: what else is wrong may come of that.
func withoutContent(method string, v api.Verdict) string {
	refused := v.Outcome == api.Refused && v.Status == http.StatusBadRequest
	switch {
	case method != http.MethodPut && method != http.MethodPatch && (method != http.MethodPost || !refused):
		return v.Summary
	case refused:
		return "no content was given (--content FILE gives it), and a request without any is " + v.Summary
	}
	return v.Summary + " No content was given (--content FILE gives it): this is judged of a request without any."
}

// begin is the link that identifies, for a request that is explained. It begins the trail.
func (w *Walked) begin(l *chain.Links) chain.Check {
	return func(answer http.ResponseWriter, r *http.Request) (goesOn bool) {
		x := exchange.From(r)
		w.Exchange, x.Trail = x, &exchange.Trail{}
		x.Reach(exchange.AtHead)
		if fault := l.ReadHead(x, r); fault != nil {
			exchange.Fail(answer, r, fault)
			return false
		}
		return true
	}
}

// signsIn is the link that authenticates, for a request that is explained. Nothing is counted.
func (w *Walked) signsIn(l *chain.Links, of Request) chain.Check {
	return func(answer http.ResponseWriter, r *http.Request) (goesOn bool) {
		x, who := exchange.From(r), of.who
		if of.SignsIn {
			x.Reach(exchange.AtSignIn)
			signedIn := l.Authenticator.Explain(r, of.ask)
			w.SignIn = &signedIn
			if refusal := signedIn.Refusal; refusal != nil && !x.ForMetadata() {
				l.RefuseSignIn(answer, r, refusal)
				return false
			}
			who = signedIn.Principal
		}
		x.Reach(exchange.AtClassification)
		l.Admit(x, r, who)
		return true
	}
}

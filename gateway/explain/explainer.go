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
	"portico/inventory"
	"portico/upstream"
)

// Explainer explains requests under one configuration.
type Explainer struct {
	Config        *config.Config
	Store         *inventory.Store
	Upstream      *upstream.Client
	Authenticator access.Authenticator
	Throttle      *chain.Throttle
	Preflight     *preflight.Preflight
	// Rehearse returns the links of a chain that rolls back each write and records each call
	// to a provider in calls. If askProviders is set, searches are
	// made for real. If allowsAll is set,
	// no roles are checked.
	Rehearse func(calls *Calls, allowsAll, askProviders bool) *chain.Links
}

// explainTime bounds an explanation, which may wait for providers and for open writes.
const explainTime = 30 * time.Second

// Explain shows how a request would be handled, without sending it. It changes nothing, except
// that the index records answers of providers if the question allows asking them. The error
// is an *arm.Error for an invalid question, or the store's.
func (e *Explainer) Explain(ctx context.Context, q api.Question) (api.Explanation, error) {
	ctx, cancel := context.WithTimeout(ctx, explainTime)
	defer cancel()
	if fault := checkQuestion(&q); fault != nil {
		return api.Explanation{}, fault
	}
	request := Request{SignsIn: q.Token != "", Raw: len(q.Raw) > 0, askProviders: q.Ask, content: q.Content}
	var fault *arm.Error
	if request.Raw {
		var explained *api.Explanation
		if request.Request, explained = e.readRaw(ctx, q.Raw); explained != nil {
			return *explained, nil
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
	return e.ExplainRequest(request)
}

// Request is a request to explain, with its assumed caller.
type Request struct {
	*http.Request
	Roles        string // how roles apply to it, one of the constants of package api
	SignsIn      bool   // it signs in by its own credentials instead of a named principal
	Raw          bool   // it was given as bytes, so that its host is checked
	who          access.Principal
	askProviders bool
	content      string // "" if Raw
}

// ExplainRequest sends a request through the handlers without effects, and explains it.
func (e *Explainer) ExplainRequest(of Request) (api.Explanation, error) {
	calls := NewCalls(e.Upstream)
	links := e.Rehearse(calls, of.Roles == api.RolesSkipped, of.askProviders)
	walked := Walked{Method: of.Method, Calls: calls, Roles: of.Roles, Answer: exchange.CaptureBeginning()}
	checks := []chain.Check{walked.identify(links)}
	if of.Raw {
		checks = append(checks, links.GuardHost)
	}
	read := func(http.ResponseWriter, *http.Request) (goesOn bool) {
		walked.Read = true
		return true
	}
	handler := links.Inner(append(checks, walked.authenticate(links, of), links.Classify, read, e.Throttle.Explain)...)
	fault := walked.Answer.Run(of.RequestURI, func() { handler.ServeHTTP(walked.Answer, of.Request) })
	if fault != nil {
		return api.Explanation{}, fault
	}
	if walked.Read {
		var err error
		if walked.Locks, err = admission.LocksOver(of.Context(), e.Store.Locks, walked.Exchange); err != nil {
			return api.Explanation{}, err
		}
	}
	explanation := walked.Explanation()
	explanation.Judges = e.judges(of, &walked, explanation.Verdict)
	if of.content == "" && !of.Raw && walked.Read {
		explanation.Verdict.Summary = summaryWithoutContent(of.Method, explanation.Verdict)
	}
	return explanation, nil
}

// summaryWithoutContent returns the summary for a question without content. If the request
// needs content, the summary starts with that, since other faults may follow from it.
func summaryWithoutContent(method string, v api.Verdict) string {
	refused := v.Outcome == api.Refused && v.Status == http.StatusBadRequest
	switch {
	case method != http.MethodPut && method != http.MethodPatch && (method != http.MethodPost || !refused):
		return v.Summary
	case refused:
		return "no content was given (--content FILE gives it), and a request without any is " + v.Summary
	}
	return v.Summary + " No content was given (--content FILE gives it), so this applies to a request without content."
}

// identify replaces the link that identifies requests. It starts the trail.
func (w *Walked) identify(l *chain.Links) chain.Check {
	return func(answer http.ResponseWriter, r *http.Request) (goesOn bool) {
		x := exchange.From(r)
		w.Exchange, x.Trail = x, &exchange.Trail{}
		x.RecordStage(exchange.AtHead)
		if fault := l.ReadHead(x, r); fault != nil {
			exchange.Fail(answer, r, fault)
			return false
		}
		return true
	}
}

// authenticate replaces the link that authenticates. It counts nothing.
func (w *Walked) authenticate(l *chain.Links, of Request) chain.Check {
	return func(answer http.ResponseWriter, r *http.Request) (goesOn bool) {
		x, who := exchange.From(r), of.who
		if of.SignsIn {
			x.RecordStage(exchange.AtSignIn)
			signedIn := l.Authenticator.Explain(r, of.askProviders)
			w.SignIn = &signedIn
			if refusal := signedIn.Refusal; refusal != nil && !x.ForMetadata() {
				l.RefuseSignIn(answer, r, refusal)
				return false
			}
			who = signedIn.Principal
		}
		x.RecordStage(exchange.AtClassification)
		l.Admit(x, r, who)
		return true
	}
}

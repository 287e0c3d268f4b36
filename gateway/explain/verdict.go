package explain

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"portico/access/roles"
	"portico/gateway/admin/api"
	"portico/gateway/exchange"
	"portico/routing"
)

// verdict returns the outcome of the request.
func (w *Walked) verdict(place *api.ExplainedPlace) api.Verdict {
	v := api.Verdict{Step: w.lastStep()}
	own := !w.Read || w.Exchange.Request.Class == routing.Own
	forwarded, open := w.firstOf(api.Forward), w.undecidedCalls(own)
	switch {
	case w.keysMissing():
		v.Outcome, v.Summary = api.Open, "not known before the keys of the issuer are fetched. "+w.SignIn.Advice
		return v
	case forwarded != nil && !forwarded.down && !own:
		v.Outcome, v.Step = api.Forwarded, ""
		v.Summary = w.destination(forwarded, place.Reason)
		return v
	case len(open) > 0:
		v.Outcome = api.Open
		v.Summary = fmt.Sprintf("not known before %s %s asked: %s", strings.Join(regionsCalled(open), ", "), isOrAre(open), purposeText(open[0].purpose))
		return v
	}
	v.Status = w.Answer.Status
	if w.refused() {
		code, message := w.failure()
		v.Outcome, v.Code, v.Message = api.Refused, string(code), message
		v.RetryAfter = strings.Join(w.Answer.Header()["Retry-After"], "")
		v.Summary = strings.TrimSuffix(fmt.Sprintf("refused: %d %s: %s", v.Status, code, message), ": ")
		if v.RetryAfter != "" {
			v.Summary += " Retry-After: " + v.RetryAfter + " s."
		}
		if v.Step == string(exchange.AtSignIn) {
			v.Summary = strings.TrimSpace(v.Summary + " " + w.SignIn.Advice)
		}
		return v
	}
	v.Step = ""
	if lists := w.allOf(api.List); len(lists) > 0 {
		v.Outcome = api.Forwarded
		v.Summary = fmt.Sprintf("merged from the answers of %s in %s: %s", w.provider(), strings.Join(regionsCalled(lists), ", "), place.Reason)
		return v
	}
	v.Outcome = api.Answered
	v.Summary = "answered by Portico: " + strconv.Itoa(v.Status) + w.answeredBy()
	return v
}

// answeredBy returns the words about Portico's own answer: its route, or why no provider is
// needed.
func (w *Walked) answeredBy() string {
	switch q, d := w.Exchange.Request, w.Exchange.Trail.Decision; {
	case q.Class == routing.Own && w.Exchange.Route != "":
		return ", by " + w.Exchange.Route
	case q.Class == routing.Own:
		return ", by a resource of its own"
	case d == nil:
		return ""
	case d.Mode == routing.Absent:
		return ": there is nothing to delete"
	case d.Mode == routing.Present:
		return ": the index has verified the resource"
	case d.Mode == routing.EmptyList:
		return ": no region has such a resource"
	}
	return ""
}

// undecidedCalls returns the calls whose answers decide the outcome of the request.
func (w *Walked) undecidedCalls(own bool) (open []*call) {
	for i := range w.Calls.recorded {
		c := &w.Calls.recorded[i]
		probes := c.purpose == api.Search || c.purpose == api.Probe || own
		if probes && !c.down && !c.sent {
			open = append(open, c)
		}
	}
	return open
}

func (w *Walked) firstOf(purpose string) *call {
	if all := w.allOf(purpose); len(all) > 0 {
		return all[0]
	}
	return nil
}

func (w *Walked) allOf(purpose string) (all []*call) {
	for i := range w.Calls.recorded {
		if w.Calls.recorded[i].purpose == purpose {
			all = append(all, &w.Calls.recorded[i])
		}
	}
	return all
}

// purposeText returns the words for why providers are called.
func purposeText(of string) string {
	switch of {
	case api.Search:
		return "the index does not know whether the resource exists (--ask asks)"
	case api.Probe:
		return "the index row is unverified"
	}
	return "their answers decide the answer to the request"
}

func regionsCalled(calls []*call) (names []string) {
	for _, c := range calls {
		if !slices.Contains(names, c.Endpoint.Region) {
			names = append(names, c.Endpoint.Region)
		}
	}
	slices.Sort(names)
	return names
}

func isOrAre(calls []*call) string {
	if len(regionsCalled(calls)) > 1 {
		return "are"
	}
	return "is"
}

// destination describes where a forwarded request goes, and why. If no address is healthy, it
// says that the call will probably fail.
func (w *Walked) destination(c *call, why string) string {
	var at, reasons []string
	up := false
	for _, a := range c.addresses {
		if !a.Candidate {
			continue
		}
		at, up = append(at, a.Address), up || a.Health.Up
		if reason := strings.TrimSuffix(a.Health.Reason, "."); reason != "" && !slices.Contains(reasons, reason) {
			reasons = append(reasons, reason)
		}
	}
	where := fmt.Sprintf("%s in %s at %s", w.provider(), c.Endpoint.Region, strings.Join(at, " or "))
	if up {
		return "goes to " + where + ": " + why
	}
	is := "is"
	if len(at) > 1 {
		is = "are"
	}
	return fmt.Sprintf("would go to %s, which %s down: %s (%s)", where, is, strings.Join(reasons, "; "), why)
}

func (w *Walked) provider() string {
	if q := w.Exchange.Request; q.Provider != nil {
		return q.Provider.Namespace
	}
	return "the provider"
}

// lastStep returns the last step that the request reached, or "".
func (w *Walked) lastStep() string {
	steps := w.Exchange.Trail.Stages
	if len(steps) == 0 {
		return ""
	}
	return string(steps[len(steps)-1])
}

// checks returns the steps that the request went through, with their findings.
func (w *Walked) checks(v api.Verdict) (all []api.ExplainedCheck) {
	steps := w.Exchange.Trail.Stages
	for i, step := range steps {
		if slices.Contains(steps[:i], step) {
			continue
		}
		refusedHere := v.Outcome == api.Refused && string(step) == v.Step
		check := api.ExplainedCheck{Step: string(step), Passed: !refusedHere, Detail: w.detail(step)}
		if w.keysMissing() && string(step) == v.Step {
			check.Passed, check.Detail = false, v.Summary
		}
		if refusedHere {
			check.Detail = strings.TrimPrefix(v.Summary, "refused: ") + w.missingRoles(step)
		}
		all = append(all, check)
	}
	return all
}

// detail returns the words for a step's finding.
func (w *Walked) detail(step exchange.Stage) string {
	x := w.Exchange
	switch step {
	case exchange.AtHead:
		return readAsListener
	case exchange.AtSignIn:
		return w.signInText()
	case exchange.AtRoles:
		return w.rolesText()
	case exchange.AtLocks, exchange.AtIntent:
		locks := w.locks()
		switch {
		case x.Request.Reads():
			return "locks do not apply to reads"
		case len(locks) > 0:
			return "locks that apply here: " + lockNames(locks)
		}
		return "no lock applies here"
	case exchange.AtPlace:
		if p := w.place(); p != nil && len(p.Regions) > 0 {
			return strings.Join(p.Regions, ", ") + ": " + p.Reason
		}
	case exchange.AtClassification, exchange.AtLimits, exchange.AtContent, exchange.AtArguments, exchange.AtHeaders, exchange.AtRecords, exchange.AtShape,
		exchange.AtHandler:
	}
	return ""
}

// rolesText describes the grants that allow the request.
func (w *Walked) rolesText() string {
	switch {
	case w.Roles == api.RolesIgnored:
		return "roles are not enforced"
	case w.Roles == api.RolesSkipped:
		return "roles were not checked: no principal was given"
	}
	var texts []string
	for _, a := range w.Exchange.Trail.RoleChecks {
		switch {
		case a.Err != nil:
			texts = append(texts, a.Action+" at "+a.Scope+" is not allowed")
		case a.Partly:
			texts = append(texts, a.Action+" is allowed in a part of "+a.Scope)
		case a.Grant.Role == nil:
			texts = append(texts, a.Action+" needs no role of this caller")
		case a.Grant.Assignment == "":
			texts = append(texts, a.Action+" is allowed by auth.owners at "+scopeText(a.Grant.Scope))
		default:
			texts = append(texts, a.Action+" is allowed by the role '"+a.Grant.Role.Name()+"' at "+scopeText(a.Grant.Scope)+", assignment "+a.Grant.Assignment)
		}
	}
	if len(texts) == 0 {
		return "it needs no role"
	}
	return strings.Join(texts, "; ")
}

// missingRoles names the built-in roles that would allow the refused actions, and the roles
// that the caller has.
func (w *Walked) missingRoles(step exchange.Stage) string {
	if step != exchange.AtRoles {
		return ""
	}
	var text strings.Builder
	for _, a := range w.Exchange.Trail.RoleChecks {
		if a.Err == nil {
			continue
		}
		if allow := roles.BuiltInFor(a.Action); len(allow) > 0 {
			fmt.Fprintf(&text, " Built-in roles that allow %s: %s.", a.Action, strings.Join(allow, ", "))
		}
		var names []string
		for _, g := range a.Grants {
			if g.AppliesAt(a.Scope) && len(names) < mostRoles {
				names = append(names, g.Role.Name()+" at "+scopeText(g.Scope))
			}
		}
		if len(names) == 0 {
			names = []string{"none"}
		}
		fmt.Fprintf(&text, " The caller's roles there: %s.", strings.Join(names, ", "))
	}
	return text.String()
}

// mostRoles bounds the roles of a caller that are named.
const mostRoles = 20

// scopeText returns a scope in words.
func scopeText(scope string) string {
	if scope == routing.TenantScope || scope == "" {
		return "the whole tenant"
	}
	return scope
}

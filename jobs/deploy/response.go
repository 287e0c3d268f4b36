package deploy

import (
	"cmp"
	"net/http"
	"strings"
	"time"

	"portico/arm"
	"portico/inventory"
	"portico/inventory/index"
	"portico/jobs/deploy/deployplan"
	"portico/template"
	"portico/template/document"
	"portico/template/expr"
	"portico/tracing"
	"portico/upstream/answers"
)

// Response is the response to a call.
type Response struct {
	Status int
	Header http.Header
	Body   []byte
}

// Value returns the JSON in the response to a call of a target. If there is none, the fault is the
// error in the response, or [arm.InvalidProviderResponse], which has the status of a transient
// failure.
func (a Response) Value(target string) (v expr.Value, fault *arm.Error) {
	if a.Status >= http.StatusMultipleChoices {
		return v, a.Fault()
	}
	d, faults := document.Read(a.Body, document.Strict, template.Code)
	if len(faults) > 0 && faults[0].Exceeds {
		return v, arm.NewError(arm.InvalidProviderResponse, "", "").WithMessage("'%s' gave an answer that no template can use: %s.", target, faults[0].Message)
	}
	if len(faults) > 0 {
		return v, arm.NewError(arm.InvalidProviderResponse, "", "").WithMessage("'%s' gave no answer that is valid JSON.", target)
	}
	return d.Root.Value, nil
}

// Fault returns the error in a response, or its text if that is not an ARM error. It is not cut
// yet, as masking would not recognize a part of a secret.
func (a Response) Fault() *arm.Error {
	text := strings.TrimSpace(strings.ToValidUTF8(string(a.Body), "\uFFFD"))
	return cmp.Or(answers.Error(a.Status, text), &arm.Error{
		Status: a.Status, Code: arm.InvalidProviderResponse, Message: cmp.Or(text, "The provider answered "+http.StatusText(a.Status)+"."),
	})
}

// resource returns the state of the resource in a response.
func (a Response) resource() index.Report {
	report, _ := inventory.ReadDetails(a.Body)
	return report
}

// outcomeOf maps the verdict on an error response to the outcome of its step.
var outcomeOf = [...]deployplan.Outcome{
	answers.Absent: deployplan.Refused, answers.Refused: deployplan.Refused, answers.Later: deployplan.Transient, answers.Unreachable: deployplan.Transient,
}

// refusal returns the outcome of a step after an error response, and the pause that it asks for.
func (a Response) refusal() (deployplan.Outcome, time.Duration) {
	means, after := answers.Verdict(a.Status, a.Header, true)
	if a.throttles() {
		return deployplan.Throttled, after
	}
	return outcomeOf[means], after
}

// throttles reports whether the caller of the deployment has made too many calls.
func (a Response) throttles() bool {
	return a.Status == http.StatusTooManyRequests && a.Header.Get(tracing.FailureCauseHeader) == "gateway"
}

// valueOf returns the JSON in a text as a value; null if it has none.
func valueOf(text []byte) (v expr.Value) {
	if d, faults := document.Read(text, document.Strict, template.Code); len(faults) == 0 {
		v = d.Root.Value
	}
	return v
}

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

// Answer is the answer to a call.
type Response struct {
	Status int
	Header http.Header
	Body   []byte
}

// Value returns the JSON in an answer to a call of a target. The fault is why there is none:
// the error in a refusal, or [arm.InvalidProviderResponse], whose status is that of a failure
// that may pass.
func (a Response) Value(target string) (v expr.Value, fault *arm.Error) {
	if a.Status >= http.StatusMultipleChoices {
		return v, a.Fault()
	}
	d, faults := document.Read(a.Body, document.Strict, template.Code)
	if len(faults) > 0 && faults[0].Exceeds {
		return v, arm.NewError(arm.InvalidProviderResponse, "", "").Saying("'%s' gave an answer that no template can use: %s.", target, faults[0].Message)
	}
	if len(faults) > 0 {
		return v, arm.NewError(arm.InvalidProviderResponse, "", "").Saying("'%s' gave no answer that is valid JSON.", target)
	}
	return d.Root.Value, nil
}

// Fault returns the whole error in a refusal. One that has none in ARM's form is shown as it is.
// Nothing is cut yet: a part of a secret would not be hidden.
func (a Response) Fault() *arm.Error {
	text := strings.TrimSpace(strings.ToValidUTF8(string(a.Body), "\uFFFD"))
	return cmp.Or(answers.Error(a.Status, text), &arm.Error{
		Status: a.Status, Code: arm.InvalidProviderResponse, Message: cmp.Or(text, "The provider answered "+http.StatusText(a.Status)+"."),
	})
}

// resource returns the state of the resource that an answer shows.
func (a Response) resource() index.Report {
	report, _ := inventory.ReadDetails(a.Body)
	return report
}

// byMeaning has what a refusal means for its step.
var byMeaning = [...]deployplan.Outcome{
	answers.Absent: deployplan.Refused, answers.Refused: deployplan.Refused, answers.Later: deployplan.Transient, answers.Unreachable: deployplan.Transient,
}

// refusal returns what a refusal means for its step, and the pause that it asks for.
func (a Response) refusal() (deployplan.Outcome, time.Duration) {
	means, after := answers.Verdict(a.Status, a.Header, true)
	if a.throttles() {
		return deployplan.Throttled, after
	}
	return byMeaning[means], after
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

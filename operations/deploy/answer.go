package deploy

import (
	"cmp"
	"net/http"
	"strings"

	"portico/arm"
	"portico/inventory"
	"portico/inventory/index"
	"portico/operations/deploy/plan"
	"portico/template"
	"portico/template/document"
	"portico/template/expr"
	"portico/upstream/answers"
)

// Answer is the answer to a call.
type Answer struct {
	Status int
	Header http.Header
	Body   []byte
}

// Value returns the JSON in an answer to a call of a target. The fault is why there is none:
// the error in a refusal, or [arm.InvalidProviderResponse], whose status is that of a failure
// that may pass.
func (a Answer) Value(target string) (v expr.Value, fault *arm.Error) {
	if a.Status >= http.StatusMultipleChoices {
		return v, a.Fault()
	}
	v, is := contentOf(a.Body)
	if !is {
		return v, arm.NewError(arm.InvalidProviderResponse, "", "").Saying("'%s' gave no answer that is valid JSON.", target)
	}
	return v, nil
}

// Fault returns the whole error in a refusal. One that has none in ARM's form is shown as it is.
// Nothing is cut yet: a part of a secret would not be hidden.
func (a Answer) Fault() *arm.Error {
	if fault := answers.Error(a.Status, string(a.Body)); fault != nil {
		return fault
	}
	text := strings.TrimSpace(strings.ToValidUTF8(string(a.Body), "\uFFFD"))
	return &arm.Error{Status: a.Status, Code: arm.InvalidProviderResponse, Message: cmp.Or(text, "The provider answered "+http.StatusText(a.Status)+".")}
}

// resource returns the state of the resource that an answer shows.
func (a Answer) resource() index.Report {
	report, _ := inventory.ReadDetails(a.Body)
	return report
}

// outcome returns what a refusal means for its step.
func (a Answer) outcome() plan.Outcome {
	switch {
	case a.Status == http.StatusTooManyRequests && a.Header.Get("X-Ms-Failure-Cause") == "gateway":
		return plan.Throttled
	case a.Status == http.StatusRequestTimeout, a.Status == http.StatusTooManyRequests, a.Status >= http.StatusInternalServerError:
		return plan.Transient
	}
	return plan.Refused
}

// contentOf reads an answer's content, if it is JSON.
func contentOf(content []byte) (v expr.Value, is bool) {
	d, faults := document.Read(content, document.Strict, template.Code)
	if len(faults) > 0 {
		return v, false
	}
	return d.Root.Value, true
}

// valueOf is JSON as a value; null of none.
func valueOf(text []byte) expr.Value {
	v, _ := contentOf(text)
	return v
}

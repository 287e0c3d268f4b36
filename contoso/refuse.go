package contoso

import (
	"fmt"
	"net/http"
	"strings"

	"portico/contoso/fault"
)

type additionalInfo struct {
	Type string         `json:"type"`
	Info map[string]any `json:"info"`
}

type innerError struct {
	Code       string      `json:"code"`
	Quoted     string      `json:"quoted,omitempty"`
	InnerError *innerError `json:"innererror,omitempty"`
}

// refused answers a call by the error of the fault refuse.
func refused(c *call) answer {
	refusal := c.wholeError()
	if asksPreflight(c) {
		return verdict([]errorDetail{*refusal})
	}
	return jsonAnswer(c.fault.Number, errorBody{*refusal})
}

// wholeError is an error with all members that an error may have, each of which quotes the
// content of the call. Some services write the names of what they were sent as names.
func (c *call) wholeError() *errorDetail {
	quoted := string(c.body)
	refusal := &errorDetail{
		Code: "ContosoRefusal", Message: "The content was refused as asked: " + quoted, Target: "properties.refused",
		AdditionalInfo: []additionalInfo{{Type: "PolicyViolation", Info: map[string]any{"quoted": quoted, quoted: []any{true, 7, nil}}}},
		InnerError:     &innerError{Code: "Inner", Quoted: quoted, InnerError: &innerError{Code: "Inmost"}},
		TraceID:        "contoso-trace",
		Details: []errorDetail{{
			Code: "Outer", Message: "One of its members was refused.", Target: "properties",
			Details: []errorDetail{{Code: "Inmost", Message: quoted, Target: "properties.refused", InnerError: &innerError{Code: "Deep"}}},
		}},
	}
	for i := range c.fault.Details {
		refusal.Details = append(refusal.Details, errorDetail{Code: fmt.Sprint("Detail", i), Message: strings.Repeat("Long words. ", 80), Target: fmt.Sprint("properties.", i)})
	}
	return refusal
}

// refusesLater reports whether the call is accepted, and refused by its operation.
func (c *call) refusesLater() bool {
	return c.fault.Name == fault.Refuse && c.fault.Mode != "" && c.method != http.MethodGet
}

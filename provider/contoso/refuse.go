package contoso

import (
	"fmt"
	"strings"
)

// refused returns the answer of the fault refuse.
func refused(c *call) answer {
	refusal := c.wholeError()
	if isPreflight(c) {
		return verdict([]errorDetail{*refusal})
	}
	return jsonAnswer(c.fault.Number, errorBody{*refusal})
}

// wholeError returns an error with all members that an error may have. Each quotes the
// content of the call. Some services use texts of the request as member names.
func (c *call) wholeError() *errorDetail {
	quoted := string(c.body)
	refusal := &errorDetail{
		Code: "ContosoRefusal", Message: "The content was refused as asked: " + quoted, Target: "properties.refused",
		AdditionalInfo: []any{map[string]any{"type": "PolicyViolation", "info": map[string]any{"quoted": quoted, quoted: []any{true, 7, nil}}}},
		InnerError:     map[string]any{"code": "Inner", "quoted": quoted, "innererror": map[string]any{"code": "Inmost"}},
		TraceID:        "contoso-trace",
		Details: []errorDetail{{
			Code: "Outer", Message: "One of its members was refused.", Target: "properties",
			Details: []errorDetail{{Code: "Inmost", Message: quoted, Target: "properties.refused", InnerError: map[string]any{"code": "Deep"}}},
		}},
	}
	for i := range c.fault.Details {
		refusal.Details = append(refusal.Details,
			errorDetail{Code: fmt.Sprint("Detail", i), Message: strings.Repeat("Long words. ", 80), Target: fmt.Sprint("properties.", i)})
	}
	return refusal
}

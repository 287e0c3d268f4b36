package events

import (
	"strings"

	"portico/arm"
)

// Bounds of what an event keeps of an error, in bytes.
const (
	longestCode    = 128
	longestTarget  = 1 << 10
	longestMessage = 4 << 10
)

// Bounded returns what an event keeps of an error: code, message and target, cut. nil stays
// nil.
func Bounded(e *arm.Error) *arm.Error {
	if e == nil {
		return nil
	}
	return &arm.Error{
		Status: e.Status, Code: arm.Code(cut(string(e.Code), longestCode)), Message: cut(e.Message, longestMessage), Target: cut(e.Target, longestTarget),
	}
}

func cut(text string, bound int) string {
	if len(text) <= bound {
		return text
	}
	return strings.ToValidUTF8(text[:bound], "")
}

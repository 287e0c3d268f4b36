package arm

import (
	"encoding/json"
	"fmt"
	"slices"
)

// ErrorBytes bounds what is kept of one error of a provider, in bytes of its JSON.
const ErrorBytes = 64 << 10

// lengthOfOne is for how many bytes of the longest text one detail, or member, is kept: of few,
// more is kept of each.
const lengthOfOne = 8

// Within returns an error that takes no more than bound bytes of JSON. One that is cut says so
// in its message. All its texts and members are held to the same length, the longest that fits.
func (e *Error) Within(bound int) *Error {
	if e == nil {
		return nil
	}
	size := sizeOf(*e)
	if size <= bound {
		return e
	}
	for longest := bound / 2; ; longest /= 2 {
		part := e.cut(longest)
		part.Message += fmt.Sprintf(" (This is a part of an error of %d bytes.)", size)
		if longest == 0 || sizeOf(part) <= bound {
			return &part
		}
	}
}

// cut keeps the beginning of each text, the members that are no longer, and the first of many
// members and details.
func (e *Error) cut(longest int) Error {
	part := *e
	part.Code, part.Message, part.Target = Code(beginning(string(e.Code), longest)), beginning(e.Message, longest), beginning(e.Target, longest)
	part.AdditionalInfo, part.Further, part.Details = short(e.AdditionalInfo, longest), short(e.Further, longest), nil
	for i := range min(len(e.Details), longest/lengthOfOne) {
		part.Details = append(part.Details, e.Details[i].cut(longest))
	}
	return part
}

func short(of []AdditionalInfo, longest int) (kept []AdditionalInfo) {
	for _, m := range of[:min(len(of), longest/lengthOfOne)] {
		if len(m.Type)+len(m.Info) <= longest {
			kept = append(kept, m)
		}
	}
	return kept
}

func sizeOf(e Error) int {
	text, err := json.Marshal(e)
	if err != nil { // a part is no JSON, and cannot be kept
		return 1 << 30
	}
	return len(text)
}

// DetailOf returns the error as a detail of another one: its target is the resource of an ID.
// A target of its own becomes additional information.
func (e *Error) DetailOf(id string) Error {
	detail := *e
	detail.Target = id
	if e.Target != "" && !EqualFold(e.Target, id) {
		target, _ := json.Marshal(e.Target) // which all texts can be
		detail.AdditionalInfo = append(slices.Clone(e.AdditionalInfo), AdditionalInfo{Type: "target", Info: target})
	}
	return detail
}

package arm

import (
	"encoding/json"
	"fmt"
	"slices"
)

// ErrorBytes bounds the stored part of one error of a provider, in bytes of its JSON.
const ErrorBytes = 64 << 10

// lengthOfOne is the number of bytes of the text limit per detail or member
// that is kept: if few are kept, each keeps more text.
const lengthOfOne = 8

// Within returns an error of at most bound bytes of JSON. The message of a
// cut error mentions the cut. All texts and members are cut to the same
// length, the longest that fits.
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

// cut keeps the beginning of each text, the members of at most that length,
// and the first of many members and details.
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
	if err != nil { // invalid JSON cannot be kept
		return 1 << 30
	}
	return len(text)
}

// DetailOf returns the error as a detail of another one, with the resource's
// ID as its target. Its own target becomes additional information.
func (e *Error) DetailOf(id string) Error {
	detail := *e
	detail.Target = id
	if e.Target != "" && !EqualFold(e.Target, id) {
		target, _ := json.Marshal(e.Target) // a string always has a JSON form
		detail.AdditionalInfo = append(slices.Clone(e.AdditionalInfo), AdditionalInfo{Type: "target", Info: target})
	}
	return detail
}

package arm

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// ErrorBytes bounds what is kept of one error of a provider, in bytes of its JSON.
const ErrorBytes = 64 << 10

// leastDetail is the room that a detail has at least. It is left out if there is less: code,
// target and message would be too short to say anything.
const leastDetail = 512

// Within returns an error that takes no more than bound bytes of JSON, but has room for one
// detail. One that is cut says so in its message.
func (e *Error) Within(bound int) *Error {
	if e == nil {
		return nil
	}
	size := sizeOf(*e)
	if size <= bound {
		return e
	}
	note := fmt.Sprintf(" (This is a part of an error of %d bytes.)", size)
	cut := e.cut(max(bound, leastDetail) - len(note))
	cut.Message += note
	return &cut
}

// cut keeps the beginning of each text, what fits of the other members in a half of the room,
// and gives each detail an equal share of the rest.
func (e *Error) cut(bound int) Error {
	if sizeOf(*e) <= bound {
		return *e
	}
	part := *e
	part.Code, part.Target, part.Message = Code(beginning(string(e.Code), bound/8)), beginning(e.Target, bound/4), beginning(e.Message, bound/2)
	part.Details, part.AdditionalInfo, part.Further = nil, nil, nil
	room := bound - sizeOf(part) - len(`"details":[],"additionalInfo":[],`)
	members := room / 2
	for _, list := range []struct{ of, into *[]AdditionalInfo }{{&e.AdditionalInfo, &part.AdditionalInfo}, {&e.Further, &part.Further}} {
		for _, m := range *list.of {
			if size := len(`{"type":"","info":},`) + jsonLen(m.Type) + len(m.Info); size <= members {
				*list.into = append(*list.into, m)
				members, room = members-size, room-size
			}
		}
	}
	for i := range e.Details {
		share := max(room/(len(e.Details)-i), leastDetail)
		if share > room {
			break
		}
		detail := e.Details[i].cut(share - len(","))
		part.Details = append(part.Details, detail)
		room -= sizeOf(detail) + len(",")
	}
	return part
}

// beginning returns the beginning of a text that takes no more than bound bytes as JSON.
func beginning(text string, bound int) string {
	if jsonLen(text) <= bound {
		return text
	}
	const mark = "…"
	for jsonLen(text) > bound-len(mark) {
		length := len(text) * (bound - len(mark)) / jsonLen(text)
		text = strings.ToValidUTF8(text[:max(0, min(length, len(text)-1))], "")
	}
	return text + mark
}

func jsonLen(text string) int {
	quoted, _ := json.Marshal(text) // which all texts can be
	return len(quoted) - len(`""`)
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

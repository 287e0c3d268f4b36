package jsontext

import "bytes"

// Once reports whether all readers of a JSON object find the same member called key: it
// has the member once and without escapes in its name, and no other whose name differs
// only in casing. object must be well-formed, as [Elements] hands it out.
func Once(object []byte, key string) bool {
	if len(object) == 0 || object[0] != '{' {
		return false
	}
	s := scanner{text: object}
	wanted := []byte(key)
	times := 0
	for s.at = pastSpace(object, 1); s.at < len(object) && object[s.at] == '"'; s.at = pastSpace(object, s.at+1) {
		name, err := s.string()
		if err != nil {
			return false
		}
		if bytes.EqualFold(s.name(name), wanted) {
			if times++; string(name[1:len(name)-1]) != key {
				return false
			}
		}
		s.at = pastSpace(object, pastSpace(object, s.at)+1) // behind the colon
		if s.value() != nil {
			return false
		}
		if s.at = pastSpace(object, s.at); s.at >= len(object) || object[s.at] != ',' {
			break
		}
	}
	return times == 1
}

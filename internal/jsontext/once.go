package jsontext

import "bytes"

// Once reports whether all readers of a JSON object find the same member called key: the
// object has it once, without escapes in its name, and no other member whose name
// differs only in casing. object must be well-formed, like the text of an [Element].
func Once(object []byte, key string) bool {
	if len(object) == 0 || object[0] != '{' {
		return false
	}
	s := scanner{text: object}
	wanted, times := []byte(key), 0
	end := s.parts(0, 0, func(name []byte, at int) int {
		if bytes.EqualFold(s.name(name), wanted) {
			if times++; string(name[1:len(name)-1]) != key {
				return nowhere
			}
		}
		return s.value(at, 1)
	})
	return end >= 0 && times == 1
}

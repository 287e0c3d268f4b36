package jsontext

// Element is one element of the array that [Elements] looks into.
type Element struct {
	Text   []byte // without surrounding space: a part of the text
	Offset int    // where in the text Text begins
	// Key is the value of the element's first member of the name asked for: a
	// part of the text, nil where the element is no object or has none. It begins
	// at KeyAt.
	Key   []byte
	KeyAt int
}

// Elements is [Object] for a text with one array member whose elements matter, in a
// single pass: each element of a member called array that is an array goes to element,
// with the value of its own member called key, before the member itself goes to member.
func Elements(text []byte, array, key string, member func(Member) error, element func(Element) error) error {
	s := scanner{text: text, of: array, element: element, quoted: `"` + key + `"`}
	s.note = func(m Member) error {
		if s.found.Value == nil && string(m.Key) == key {
			s.found = m
		}
		return nil
	}
	return s.outermost('{', "an object", func() error { return s.object(member) })
}

// Array checks text, which must be one JSON array and nothing else, and calls visit
// for each element of it in order, without a key. The error is a *[SyntaxError], or
// what visit returned.
func Array(text []byte, visit func(Element) error) error {
	s := scanner{text: text}
	return s.outermost('[', "an array", func() error {
		return s.array(func() error {
			begin := s.at
			if err := s.value(); err != nil {
				return err
			}
			return visit(Element{Text: s.text[begin:s.at], Offset: begin})
		})
	})
}

// member reads the value of a member of the outermost object.
func (s *scanner) member(quoted []byte) error {
	if s.element == nil || s.at >= len(s.text) || s.text[s.at] != '[' || string(s.name(quoted)) != s.of {
		return s.value()
	}
	return s.array(s.handed)
}

// handed reads an element and hands it out.
func (s *scanner) handed() error {
	begin := s.at
	s.found = Member{}
	if err := s.keyed(); err != nil {
		return err
	}
	return s.element(Element{s.text[begin:s.at], begin, s.found.Value, s.found.Offset})
}

// keyed reads an element and notes the value of its key.
func (s *scanner) keyed() error {
	if s.at >= len(s.text) || s.text[s.at] != '{' {
		return s.value()
	}
	if found, ok := s.skipped(s.quoted); ok {
		s.found = found
		return nil
	}
	return s.object(s.note)
}

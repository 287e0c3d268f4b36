package setting

import "portico/config/yamltree"

// Default sets the description of the default in the reference.
func (s *Setting) Default(text string) *Setting {
	s.initialText = text
	return s
}

// Noun overrides, in the reference, what the rule calls the value.
func (s *Setting) Noun(noun string) *Setting {
	s.noun = noun
	return s
}

// Allowed overrides, in the reference, the rule's description of valid values.
func (s *Setting) Allowed(text string) *Setting {
	s.allowed = text
	return s
}

// Conditional leaves it to the check of the mapping whether the scalar is required
// ([Object.Require]).
func (s *Setting) Conditional() *Setting {
	s.conditional = true
	return s
}

// Identity marks the scalar that names its mapping. If it is absent, invalid or rejected by accept,
// the rest of the mapping is not read. A nil accept accepts everything.
func (s *Setting) Identity(accept func(at *yamltree.Node) bool) *Setting {
	s.identity, s.accept = true, accept
	return s
}

// NonEmpty rejects an empty list. wanted describes the items, or the alternative to an empty list.
func (s *Setting) NonEmpty(wanted string) *Setting {
	s.nonEmpty, s.itemsWanted = true, wanted
	return s
}

// AtLeastOne makes a list required and rejects an empty one.
func (s *Setting) AtLeastOne(wanted string) *Setting {
	s.required = true
	return s.NonEmpty(wanted)
}

// ShortPath makes faults name the list's items by its key only.
func (s *Setting) ShortPath() *Setting {
	s.shortPath = true
	return s
}

// IfGiven skips the rows of a mapping that is absent, so that its required settings are required
// only if it is present.
func (s *Setting) IfGiven() *Setting {
	read := s.read
	s.read = func(o *Object) bool { return o.Get(s.key) == nil || read(o) }
	return s
}

// Check calls check after the rows of a mapping were read, to check them together.
func (s *Setting) Check(check func(o *Object)) *Setting {
	read := s.read
	s.read = func(o *Object) bool {
		ok := read(o)
		check(o.Child(s.key))
		return ok
	}
	return s
}

// Then calls next after the setting was read.
func (s *Setting) Then(next func()) *Setting {
	read := s.read
	s.read = func(o *Object) bool {
		ok := read(o)
		next()
		return ok
	}
	return s
}

// OrWord allows a word instead of a mapping. judge checks the word.
func (s *Setting) OrWord(word string, judge func(o *Object, n *yamltree.Node)) *Setting {
	s.word = word
	read := s.read
	s.read = func(o *Object) bool {
		if n := o.Get(s.key); n != nil && n.Kind == yamltree.Scalar {
			judge(o, n)
			return true
		}
		return read(o)
	}
	return s
}

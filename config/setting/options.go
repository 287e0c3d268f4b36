package setting

import "portico/config/yamltree"

// Default says the default in words, in the reference.
func (s *Setting) Default(text string) *Setting {
	s.initialText = text
	return s
}

// Noun says what a scalar is in another word than the rule does, in the
// reference.
func (s *Setting) Noun(noun string) *Setting {
	s.noun = noun
	return s
}

// Allowed says what may stand there in other words than the rule does, in the
// reference.
func (s *Setting) Allowed(text string) *Setting {
	s.allowed = text
	return s
}

// Conditional leaves it to a check of the mapping whether the scalar is required
// ([Object.Require]).
func (s *Setting) Conditional() *Setting {
	s.conditional = true
	return s
}

// Identity marks the scalar that names its mapping: the rest is not read where
// it is absent, wrong or not accepted. No accept accepts all.
func (s *Setting) Identity(accept func(at *yamltree.Node) bool) *Setting {
	s.identity, s.accept = true, accept
	return s
}

// NonEmpty makes a list that is given have items; wanted says which, or what is
// allowed in place of an empty one.
func (s *Setting) NonEmpty(wanted string) *Setting {
	s.nonEmpty, s.wanted = true, wanted
	return s
}

// AtLeastOne is NonEmpty for a list that has to be given.
func (s *Setting) AtLeastOne(wanted string) *Setting {
	s.required = true
	return s.NonEmpty(wanted)
}

// ShortPath makes faults name the items of a list by its key alone.
func (s *Setting) ShortPath() *Setting {
	s.shortPath = true
	return s
}

// IfGiven leaves out the rows of a mapping that is absent, so that what is
// required in it is required only where it is given.
func (s *Setting) IfGiven() *Setting {
	read := s.read
	s.read = func(o *Object) bool { return o.Get(s.key) == nil || read(o) }
	return s
}

// Check calls check once the rows of a mapping were read, to judge them
// together.
func (s *Setting) Check(check func(o *Object)) *Setting {
	read := s.read
	s.read = func(o *Object) bool {
		ok := read(o)
		check(o.Below(s.key))
		return ok
	}
	return s
}

// Then calls next once the setting was read.
func (s *Setting) Then(next func()) *Setting {
	read := s.read
	s.read = func(o *Object) bool {
		ok := read(o)
		next()
		return ok
	}
	return s
}

// OrWord lets a word stand in place of a mapping, which judge judges.
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

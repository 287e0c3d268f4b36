package expr

// Source makes an array or an object as far as an expression looks at it: a.b and a[b]
// select a part, and all other uses take the whole.
type Source interface {
	// Select returns a part by a member's name or an element's index, which may be of a Source
	// again, and whether there is one.
	Select(key Value) (part Value, found bool, err error)
	Whole() (Value, error)
}

// sourced is what a Value refers to that is of a Source.
type sourced struct{ Source }

// SourceOf is the value, of a kind, that a function leaves to a source to make.
func SourceOf(kind Kind, s Source) Value { return Value{kind: kind, ref: &sourced{s}} }

// part is what a key selects of a value. selectOf selects it where the value is of no Source,
// and says what is wrong where that has no such part.
func part(of, key Value, selectOf func(of Value) (Value, error)) (Value, error) {
	if source, is := of.ref.(*sourced); is {
		v, found, err := source.Select(key)
		if found || err != nil {
			return v.inherit(of), err
		}
		if of, err = Whole(of); err != nil {
			return of, err
		}
	}
	return selectOf(of)
}

// Whole returns a value that is made as a whole.
func Whole(v Value) (Value, error) {
	source, is := v.ref.(*sourced)
	if !is {
		return v, nil
	}
	made, err := source.Whole()
	if err == nil {
		err = bounded(made)
	}
	return made.inherit(v), err
}

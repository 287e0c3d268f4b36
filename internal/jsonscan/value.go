package jsonscan

// Value returns the value of an object's member as it is written, of the last one where
// several have the key; nil where none has, or where the text is no object as far as the
// member. Whether the object is well-formed to its end is not said.
func Value(object []byte, key string) (value []byte) {
	_ = Object(object, func(m Member) error {
		if string(m.Key) == key {
			value = m.Value
		}
		return nil
	})
	return value
}

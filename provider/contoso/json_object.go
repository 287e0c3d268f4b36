package contoso

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
)

// object is a JSON object that keeps its members' order and bytes, so that
// clients get their own numbers, escapes and order back.
type object []member

type member struct {
	key   string
	value json.RawMessage
}

func (o object) get(key string) (json.RawMessage, bool) {
	for _, m := range o {
		if m.key == key {
			return m.value, true
		}
	}
	return nil, false
}

// present is like get, but treats members that are null as absent.
func (o object) present(key string) (json.RawMessage, bool) {
	v, ok := o.get(key)
	return v, ok && !isNull(v)
}

func (o object) with(key string, value json.RawMessage) object {
	out := make(object, 0, len(o)+1)
	found := false
	for _, m := range o {
		if m.key == key {
			m.value, found = value, true
		}
		out = append(out, m)
	}
	if !found {
		out = append(out, member{key, value})
	}
	return out
}

func (o object) without(keys ...string) object {
	out := make(object, 0, len(o))
next:
	for _, m := range o {
		for _, k := range keys {
			if m.key == k {
				continue next
			}
		}
		out = append(out, m)
	}
	return out
}

// text returns the member as a string, "" if it is absent or null; another
// type is an error.
func (o object) text(key string) (string, error) {
	v, ok := o.present(key)
	if !ok {
		return "", nil
	}
	var s string
	if err := json.Unmarshal(v, &s); err != nil {
		return "", invalidContent("The member '%s' must be a string.", key)
	}
	return s, nil
}

// object returns the member as an object, empty if it is absent or null.
func (o object) object(key string) (object, error) {
	v, ok := o.present(key)
	if !ok {
		return object{}, nil
	}
	var out object
	if err := json.Unmarshal(v, &out); err != nil {
		return nil, invalidContent("The member '%s' must be an object, each of its members once.", key)
	}
	return out, nil
}

// UnmarshalJSON refuses values that are not objects, and duplicate members.
func (o *object) UnmarshalJSON(data []byte) error {
	d := json.NewDecoder(bytes.NewReader(data))
	if t, err := d.Token(); err != nil {
		return err
	} else if t != json.Delim('{') {
		return errors.New("not an object")
	}
	*o = object{}
	for d.More() {
		t, err := d.Token()
		if err != nil {
			return err
		}
		key := t.(string) // the decoder yields only strings at a key's place
		if _, twice := o.get(key); twice {
			return fmt.Errorf("the member %q is given twice", key)
		}
		var raw json.RawMessage
		if err := d.Decode(&raw); err != nil {
			return err
		}
		var packed bytes.Buffer
		if err := json.Compact(&packed, raw); err != nil {
			return err
		}
		*o = append(*o, member{key, packed.Bytes()})
	}
	_, err := d.Token()
	return err
}

// MarshalJSON writes the members in their order.
func (o object) MarshalJSON() ([]byte, error) { return o.bytes(), nil }

func (o object) bytes() []byte {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, m := range o {
		if i > 0 {
			b.WriteByte(',')
		}
		b.Write(encode(m.key))
		b.WriteByte(':')
		b.Write(m.value)
	}
	b.WriteByte('}')
	return b.Bytes()
}

// merge applies a JSON merge patch (RFC 7396).
func (o object) merge(patch object) object {
	out := o
	for _, m := range patch {
		if isNull(m.value) {
			out = out.without(m.key)
			continue
		}
		out = out.with(m.key, mergeValue(out, m))
	}
	return out
}

func mergeValue(into object, m member) json.RawMessage {
	var patch object
	if json.Unmarshal(m.value, &patch) != nil {
		return m.value
	}
	var old object
	if v, ok := into.get(m.key); !ok || json.Unmarshal(v, &old) != nil {
		old = object{} // an object as a patch starts from an empty one
	}
	return old.merge(patch).bytes()
}

func isNull(v json.RawMessage) bool { return string(v) == "null" }

// canonical returns equal bytes for equal values: members sorted, no white
// space, numbers as they were written.
func canonical(v json.RawMessage) ([]byte, error) {
	d := json.NewDecoder(bytes.NewReader(v))
	d.UseNumber()
	var x any
	if err := d.Decode(&x); err != nil {
		return nil, err
	}
	return encode(x), nil
}

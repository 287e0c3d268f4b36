package arm

import (
	"bytes"
	"encoding/json"
	"encoding/json/jsontext"
	"errors"
	"fmt"
	"strings"
)

// mostLevels bounds the levels of details that are read as errors. Deeper
// ones are kept as additional information, because each level costs time.
const mostLevels = 16

// ReadError reads the error in a provider's answer, with or without ARM's
// envelope; nil if it has neither a code nor a message. The text may be
// truncated anywhere: the part before that counts.
func ReadError(text []byte) *Error {
	var enveloped, bare Error
	_ = eachMember(text, func(name string, value []byte) {
		if strings.EqualFold(name, "error") {
			_ = enveloped.read(value, 0)
		}
	})
	if enveloped.Code != "" || enveloped.Message != "" {
		return &enveloped
	}
	if _ = bare.read(text, 0); bare.Code != "" || bare.Message != "" {
		return &bare
	}
	return nil
}

// UnmarshalJSON reads an error as providers write it. Names match without
// case. A member of the wrong kind becomes additional information under its
// name, because clients cannot read the error otherwise.
func (e *Error) UnmarshalJSON(text []byte) error {
	*e = Error{}
	return e.read(text, 0)
}

func (e *Error) read(text []byte, level int) error {
	return eachMember(text, func(name string, value []byte) {
		fits := true
		switch folded := strings.ToLower(name); {
		case string(value) == "null", !json.Valid(value):
		case folded == "code":
			fits = readText(value, &e.Code)
		case folded == "message":
			fits = readText(value, &e.Message)
		case folded == "target":
			fits = readText(value, &e.Target)
		case folded == "details":
			e.Details, fits = readDetails(value, level+1)
		case folded == "additionalinfo":
			var infos []AdditionalInfo
			if fits = value[0] == '[' && json.Unmarshal(value, &infos) == nil; fits {
				e.AdditionalInfo = append(e.AdditionalInfo, infos...)
			}
		default:
			e.Further = append(e.Further, AdditionalInfo{Type: name, Info: bytes.Clone(value)})
		}
		if !fits {
			e.AdditionalInfo = append(e.AdditionalInfo, AdditionalInfo{Type: name, Info: bytes.Clone(value)})
		}
	})
}

// readText reads a string, and reports whether the value is one. It checks
// the kind first, because the decoder's error is larger than many values.
func readText[T ~string](value []byte, into *T) bool {
	return value[0] == '"' && json.Unmarshal(value, into) == nil
}

func readDetails(text []byte, level int) (details []Error, fits bool) {
	var elements []json.RawMessage
	if level > mostLevels || text[0] != '[' || json.Unmarshal(text, &elements) != nil {
		return nil, false
	}
	for _, element := range elements {
		var detail Error
		if detail.read(element, level) != nil {
			return nil, false
		}
		details = append(details, detail)
	}
	return details, true
}

var errNoObject = errors.New("an error is an object")

// eachMember visits the members of an object. A value is valid only during
// its visit. If the text is truncated, the last value may be too.
func eachMember(text []byte, visit func(name string, value []byte)) error {
	d := jsontext.NewDecoder(bytes.NewBuffer(text), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	if d.PeekKind() != jsontext.KindBeginObject {
		return errNoObject
	}
	_, _ = d.ReadToken() // as peeked
	for d.PeekKind() == jsontext.KindString {
		key, err := d.ReadToken()
		if err != nil {
			return err
		}
		name, from := key.String(), d.InputOffset()
		value, err := d.ReadValue()
		if err != nil {
			visit(name, bytes.TrimLeft(text[from:], ": \t\r\n"))
			return err
		}
		visit(name, value)
	}
	_, err := d.ReadToken()
	return err
}

// MarshalJSON writes the members of ARM's form, followed by the further ones.
func (e Error) MarshalJSON() ([]byte, error) {
	type inForm Error
	var text bytes.Buffer
	w := json.NewEncoder(&text)
	w.SetEscapeHTML(false) // the surrounding encoder escapes
	err := w.Encode(inForm(e))
	for _, m := range e.Further {
		name, _ := json.Marshal(m.Type) // a string always has a JSON form
		text.Truncate(text.Len() - len("}\n"))
		fmt.Fprintf(&text, ",%s:%s}\n", name, m.Info)
	}
	return text.Bytes(), err
}

package arm

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// mostLevels is how many levels of details are read as errors. What lies below is kept as
// additional information: reading takes time for each level.
const mostLevels = 16

// ReadError reads the error in a provider's answer, in ARM's envelope or without one; nil if
// it has neither a code nor a message. The text may break off anywhere: what stands before
// counts.
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

// UnmarshalJSON reads an error as providers write it. Names match without case. A member of
// the wrong kind is kept as additional information under its name, because clients cannot
// read the error if it stays in its place.
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
			fits = json.Unmarshal(value, &e.Code) == nil
		case folded == "message":
			fits = json.Unmarshal(value, &e.Message) == nil
		case folded == "target":
			fits = json.Unmarshal(value, &e.Target) == nil
		case folded == "details":
			e.Details, fits = readDetails(value, level+1)
		case folded == "additionalinfo":
			var infos []AdditionalInfo
			if fits = json.Unmarshal(value, &infos) == nil; fits {
				e.AdditionalInfo = append(e.AdditionalInfo, infos...)
			}
		default:
			e.Further = append(e.Further, AdditionalInfo{Type: name, Info: value})
		}
		if !fits {
			e.AdditionalInfo = append(e.AdditionalInfo, AdditionalInfo{Type: name, Info: value})
		}
	})
}

func readDetails(text []byte, level int) (details []Error, fits bool) {
	var elements []json.RawMessage
	if level > mostLevels || json.Unmarshal(text, &elements) != nil {
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

// eachMember visits the members of an object. Of a text that breaks off, the last value may
// break off as well.
func eachMember(text []byte, visit func(name string, value []byte)) error {
	d := json.NewDecoder(bytes.NewReader(text))
	if opening, err := d.Token(); err != nil || opening != json.Delim('{') {
		return errNoObject
	}
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return err
		}
		name, _ := key.(string) // as all keys are
		from := d.InputOffset()
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			visit(name, bytes.TrimLeft(text[from:], ": \t\r\n"))
			return err
		}
		visit(name, value)
	}
	_, err := d.Token()
	return err
}

// MarshalJSON writes the members of ARM's form, and then the further ones.
func (e Error) MarshalJSON() ([]byte, error) {
	type inForm Error
	var text bytes.Buffer
	w := json.NewEncoder(&text)
	w.SetEscapeHTML(false) // the encoder around this one decides that
	err := w.Encode(inForm(e))
	for _, m := range e.Further {
		name, _ := json.Marshal(m.Type) // as all texts can be
		text.Truncate(text.Len() - len("}\n"))
		fmt.Fprintf(&text, ",%s:%s}\n", name, m.Info)
	}
	return text.Bytes(), err
}

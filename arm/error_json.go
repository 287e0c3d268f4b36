package arm

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"portico/internal/jsontext"
)

// mostLevels is how many levels of details are read as errors. What lies below is kept as
// additional information: reading takes time for each level.
const mostLevels = 16

// ReadError reads the error in a provider's answer, in ARM's envelope or without one; nil if
// it has neither a code nor a message. The text may break off anywhere: what stands before
// counts.
func ReadError(text []byte) *Error {
	text = bytes.ToValidUTF8(text, []byte("\uFFFD"))
	for _, object := range [][]byte{enveloped(text), text} {
		var e Error
		if _ = e.read(object, 0); e.Code != "" || e.Message != "" {
			return &e
		}
	}
	return nil
}

// enveloped returns what stands in ARM's envelope. It may break off, as the text does.
func enveloped(text []byte) (object []byte) {
	rest := text
	_ = jsontext.Object(text, func(m jsontext.Member) error {
		if strings.EqualFold(string(m.Key), "error") {
			object = m.Value
		}
		rest = text[m.Offset+len(m.Value):]
		return nil
	})
	if before, broken, _ := bytes.Cut(rest, []byte(":")); strings.EqualFold(string(bytes.Trim(before, "{, \t\r\n")), `"error"`) {
		object = broken
	}
	return object
}

// UnmarshalJSON reads an error as providers write it. Names match without case. A member of
// the wrong kind is kept as additional information under its name, because clients cannot
// read the error if it stays in its place.
func (e *Error) UnmarshalJSON(text []byte) error {
	*e = Error{}
	return e.read(bytes.ToValidUTF8(text, []byte("\uFFFD")), 0)
}

func (e *Error) read(text []byte, level int) error {
	texts := map[string]any{"code": &e.Code, "message": &e.Message, "target": &e.Target}
	return jsontext.Object(text, func(m jsontext.Member) error {
		whole, fits := AdditionalInfo{Type: string(m.Key), Info: m.Value}, true
		switch name := strings.ToLower(whole.Type); {
		case jsontext.Null(m.Value):
		case texts[name] != nil:
			fits = json.Unmarshal(m.Value, texts[name]) == nil
		case name == "details":
			var details []Error
			if details, fits = readDetails(m.Value, level+1); fits {
				e.Details = details
			}
		case name == "additionalinfo":
			var infos []AdditionalInfo
			if fits = json.Unmarshal(m.Value, &infos) == nil; fits {
				e.AdditionalInfo = append(e.AdditionalInfo, infos...)
			}
		default:
			e.Further = append(e.Further, whole)
		}
		if !fits {
			e.AdditionalInfo = append(e.AdditionalInfo, whole)
		}
		return nil
	})
}

func readDetails(text []byte, level int) (details []Error, fit bool) {
	if level > mostLevels {
		return nil, false
	}
	err := jsontext.Array(text, func(element jsontext.Element) error {
		details = append(details, Error{})
		return details[len(details)-1].read(element.Text, level)
	})
	return details, err == nil
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

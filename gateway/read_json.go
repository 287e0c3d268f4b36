package gateway

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"
	"unicode/utf8"

	"portico/arm"
	"portico/jsonscan"
	"portico/logs"
)

// Bounds of what a model of Portico's own is read from, beyond all that makes sense:
// members of one object, each known, and elements of one list or entries of one map.
const (
	mostMembers  = 100
	mostElements = arm.MaxTags
)

// readJSON reads the content of a request that Portico answers itself. What it
// does not know, or not of that kind, is InvalidRequestContent, with the path of
// the member as ARM tells it. All of it is counted before any of it is read.
func readJSON(content []byte, into any) *arm.Error {
	if len(content) == 0 {
		return undecodable(io.EOF)
	}
	if err := fits(content, reflect.TypeOf(into).Elem()); err != nil {
		return misfit(err, content)
	}
	err := json.Unmarshal(content, into)
	var kind *json.UnmarshalTypeError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &kind):
		return atPlace(undecodable(err), content, int(kind.Offset))
	}
	return undecodable(err)
}

// atPlace adds to the words of a fault, which end with a path, where in content
// it lies.
func atPlace(fault *arm.Error, content []byte, offset int) *arm.Error {
	line, position := jsonscan.Place(content, offset)
	return fault.Saying("%s, line %d, position %d.'.", strings.TrimSuffix(fault.Message, "'."), line, position)
}

// misfitError tells why content does not fit a model.
type misfitError struct {
	path string
	at   int // in the content
	what string
}

func (e *misfitError) Error() string { return e.what }

// misfit says it in ARM's way.
func misfit(err error, content []byte) *arm.Error {
	var wrong *misfitError
	if !errors.As(err, &wrong) {
		return arm.NewError(arm.InvalidRequestContent, err.Error())
	}
	return atPlace(arm.NewError(arm.InvalidRequestContent, wrong.what+". Path '"+wrong.path+"'").About(wrong.path), content, wrong.at)
}

// fits checks that text is JSON of which a value of type t can be read without
// taking much more memory than the text does: each member of an object has a field,
// and nothing is longer than it may be. What is of another kind than t is for the
// decoder to refuse.
func fits(text []byte, t reflect.Type) error {
	if err := jsonscan.Valid(text); err != nil {
		return err
	}
	begin := len(text) - len(bytes.TrimLeft(text, " \t\r\n"))
	return fitsAt(bytes.TrimSpace(text), t, begin, "")
}

// fitsAt checks a value that begins at an offset in the content, under a path.
func fitsAt(value []byte, t reflect.Type, at int, path string) error {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch {
	case t == reflect.TypeFor[json.RawMessage]():
	case t.Kind() == reflect.Struct && value[0] == '{':
		return fitsMembers(value, t, at, path)
	case t.Kind() == reflect.Map && value[0] == '{':
		return fitsCount(value, jsonscan.Object, at, path, "members", mostElements)
	case t.Kind() == reflect.Slice && value[0] == '[':
		return fitsCount(value, jsonscan.Array, at, path, "elements", mostElements)
	}
	return nil
}

func fitsMembers(value []byte, t reflect.Type, at int, path string) error {
	if err := fitsCount(value, jsonscan.Object, at, path, "members", mostMembers); err != nil {
		return err
	}
	fields := fieldsOf(t)
	return jsonscan.Object(value, func(m jsonscan.Member) error {
		i := slices.IndexFunc(fields, func(f field) bool { return bytes.EqualFold(f.name, m.Key) })
		if i < 0 {
			name := shownName(m.Key)
			return &misfitError{below(path, name), at + m.Offset, "Could not find member '" + name + "'"}
		}
		return fitsAt(m.Value, fields[i].of, at+m.Offset, below(path, string(m.Key)))
	})
}

// fitsCount counts what an object, a list or a map holds.
func fitsCount[of jsonscan.Member | jsonscan.Element](value []byte, each func([]byte, func(of) error) error, at int, path, what string, most int) error {
	n := 0
	if err := each(value, func(of) error { n++; return nil }); err != nil || n <= most {
		return err
	}
	holder := "The content"
	if path != "" {
		holder = path
	}
	return &misfitError{path, at, fmt.Sprintf("%s holds %d %s, and may hold %d", holder, n, what, most)}
}

// longestName is how much of the name of an unknown member is shown.
const longestName = 512

func shownName(key []byte) string {
	return logs.Clip(string(key[:min(len(key), longestName+utf8.UTFMax)]), longestName)
}

func below(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

// field is a member that a model has.
type field struct {
	name []byte
	of   reflect.Type
}

// fieldsOf returns the fields of a struct into which the decoder puts members.
func fieldsOf(t reflect.Type) (all []field) {
	for _, f := range reflect.VisibleFields(t) {
		if tag, _, _ := strings.Cut(f.Tag.Get("json"), ","); tag != "" {
			all = append(all, field{[]byte(tag), f.Type})
		}
	}
	return all
}

// echoed is a member that only the service sets. It may come back from a GET,
// and has to be what the URL says.
type echoed struct{ member, got, want string }

// matchURL refuses the first member that is another than the URL's, without
// regard to case.
func matchURL(members ...echoed) *arm.Error {
	for _, m := range members {
		if m.got != "" && !arm.EqualFold(m.got, m.want) {
			return arm.NewError(arm.InvalidRequestContent, "The member '"+m.member+"' is not that of the request URI. Path '"+m.member+"'").About(m.member)
		}
	}
	return nil
}

// overlong refuses a member of which there are n bytes.
func overlong(member string, n, most int) *arm.Error {
	return arm.NewError(arm.InvalidRequestContent, fmt.Sprintf("The %s has %d bytes, and may have %d. Path '%[1]s'", member, n, most)).About(member)
}

// undecodable says in ARM's way what the decoder said in its own.
func undecodable(err error) *arm.Error {
	var kind *json.UnmarshalTypeError
	switch {
	case errors.As(err, &kind):
		return arm.NewError(arm.InvalidRequestContent, fmt.Sprintf("A value of the kind '%s' cannot stand here. Path '%s'", kind.Value, kind.Field)).About(kind.Field)
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return arm.NewError(arm.InvalidRequestContent, "Unexpected end of content. Path ''")
	}
	return arm.NewError(arm.InvalidRequestContent, strings.TrimPrefix(err.Error(), "json: "))
}

package exchange

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"portico/arm"
	"portico/internal/jsontext"
	"portico/internal/logs"
)

// Bounds of content that is read into a model, larger than any sensible content: members
// of one object, each known, and elements of one list or entries of one map.
const (
	mostMembers  = 100
	mostElements = arm.MaxTags
)

// ReadJSON reads content into one of Portico's own models. For a member that the model
// lacks, or whose value has the wrong type, it returns InvalidRequestContent with the
// member's path, as ARM does. It checks the bounds before it decodes anything.
func ReadJSON(content []byte, into any) *arm.Error {
	if len(content) == 0 {
		return Undecodable(io.EOF)
	}
	if err := checkModel(content, reflect.TypeOf(into).Elem()); err != nil {
		return misfitFault(err, content)
	}
	err := json.Unmarshal(content, into)
	var kind *json.UnmarshalTypeError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &kind):
		return atPlace(Undecodable(err), content, int(kind.Offset))
	}
	return Undecodable(err)
}

// atPlace adds the position in content to a message that ends with a path.
func atPlace(fault *arm.Error, content []byte, offset int) *arm.Error {
	line, position := jsontext.Place(content, offset)
	return fault.WithMessage("%s, line %d, position %d.'.", strings.TrimSuffix(fault.Message, "'."), line, position)
}

// misfitError reports content that does not fit a model.
type misfitError struct {
	path string
	at   int // offset in the content
	what string
}

func (e *misfitError) Error() string { return e.what }

// misfitFault converts a misfitError to ARM's error.
func misfitFault(err error, content []byte) *arm.Error {
	wrong, ok := errors.AsType[*misfitError](err)
	if !ok {
		return arm.NewError(arm.InvalidRequestContent, err.Error())
	}
	return atPlace(arm.NewError(arm.InvalidRequestContent, wrong.what+". Path '"+wrong.path+"'").WithTarget(wrong.path), content, wrong.at)
}

// checkModel checks that text is JSON that can be decoded into a value of type t with
// little more memory than the text takes: each member of an object has a field, and
// nothing is longer than its bound. The decoder checks the types of values.
func checkModel(text []byte, t reflect.Type) error {
	if err := jsontext.Valid(text); err != nil {
		return err
	}
	begin := len(text) - len(bytes.TrimLeft(text, " \t\r\n"))
	return checkValue(bytes.TrimSpace(text), t, begin, "")
}

// CheckMap refuses an object, at a path, with more entries than a map may have.
func CheckMap(object []byte, path string) error {
	return checkValue(object, reflect.TypeFor[map[string]string](), 0, path)
}

// checkValue checks a value that begins at an offset in the content, at a path.
func checkValue(value []byte, t reflect.Type, at int, path string) error {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch {
	case t == reflect.TypeFor[json.RawMessage]():
	case t.Kind() == reflect.Struct && value[0] == '{':
		return checkMembers(value, t, at, path)
	case t.Kind() == reflect.Map && value[0] == '{':
		return checkCount(value, jsontext.Object, at, path, "members", mostElements)
	case t.Kind() == reflect.Slice && value[0] == '[':
		return checkElements(value, t.Elem(), at, path)
	}
	return nil
}

// checkElements checks a list and, if its elements are objects, each of them.
func checkElements(value []byte, of reflect.Type, at int, path string) error {
	if err := checkCount(value, jsontext.Array, at, path, "elements", mostElements); err != nil || of.Kind() != reflect.Struct {
		return err
	}
	return jsontext.Array(value, func(e jsontext.Element) error { return checkValue(e.Text, of, at+e.Offset, path) })
}

func checkMembers(value []byte, t reflect.Type, at int, path string) error {
	if err := checkCount(value, jsontext.Object, at, path, "members", mostMembers); err != nil {
		return err
	}
	fields := fieldsOf(t)
	return jsontext.Object(value, func(m jsontext.Member) error {
		i := slices.IndexFunc(fields, func(f field) bool { return bytes.EqualFold(f.name, m.Key) })
		if i < 0 {
			name := ShownName(m.Key)
			return &misfitError{memberPath(path, name), at + m.Offset, "Could not find member '" + name + "'"}
		}
		return checkValue(m.Value, fields[i].fieldType, at+m.Offset, memberPath(path, string(m.Key)))
	})
}

// checkCount refuses an object, a list or a map with more than most members or elements.
func checkCount[of jsontext.Member | jsontext.Element](value []byte, each func([]byte, func(of) error) error, at int, path, what string, most int) error {
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

// longestName bounds how much of an unknown member's name is shown.
const longestName = 512

// ShownName returns the beginning of a member's name, short enough for a message.
func ShownName(key []byte) string {
	return logs.Clip(string(key[:min(len(key), longestName+utf8.UTFMax)]), longestName)
}

func memberPath(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

type field struct {
	name      []byte
	fieldType reflect.Type
}

// fieldsOf returns the fields of a struct that the decoder sets.
func fieldsOf(t reflect.Type) (all []field) {
	for _, f := range reflect.VisibleFields(t) {
		if tag, _, _ := strings.Cut(f.Tag.Get("json"), ","); tag != "" {
			all = append(all, field{[]byte(tag), f.Type})
		}
	}
	return all
}

// Undecodable converts a decoder's error to ARM's.
func Undecodable(err error) *arm.Error {
	var kind *json.UnmarshalTypeError
	switch {
	case errors.As(err, &kind):
		path := pathOf(kind.Field)
		return arm.NewError(arm.InvalidRequestContent, fmt.Sprintf("A value of the kind '%s' cannot stand here. Path '%s'", kind.Value, path)).WithTarget(path)
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return arm.NewError(arm.InvalidRequestContent, "Unexpected end of content. Path ''")
	}
	return arm.NewError(arm.InvalidRequestContent, strings.TrimPrefix(err.Error(), "json: "))
}

// pathOf converts a decoder's path to ARM's form, with indexes in brackets.
func pathOf(field string) string {
	names := strings.Split(field, ".")
	for i, name := range names {
		if _, err := strconv.ParseUint(name, 10, 32); err == nil {
			names[i] = "[" + name + "]"
		}
	}
	return strings.ReplaceAll(strings.Join(names, "."), ".[", "[")
}

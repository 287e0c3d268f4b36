package gateway

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"

	"portico/arm"
	"portico/jsonscan"
)

// readJSON reads the content of a request that Portico answers itself. What it
// does not know, or not of that kind, is InvalidRequestContent, with the path of
// the member as ARM tells it.
func readJSON(content []byte, into any) *arm.Error {
	err := decodeFrom(bytes.NewReader(content), into)
	if err == nil {
		return nil
	}
	var kind *json.UnmarshalTypeError
	if errors.As(err, &kind) {
		return atPlace(undecodable(err), content, int(kind.Offset))
	}
	if path, at, found := unknownMember(content, reflect.TypeOf(into)); found {
		name := path[strings.LastIndexByte(path, '.')+1:]
		return atPlace(arm.NewError(arm.InvalidRequestContent, fmt.Sprintf("Could not find member '%s'. Path '%s'", name, path)).About(path), content, at)
	}
	return undecodable(err)
}

// atPlace adds to the words of a fault, which end with a path, where in content
// it lies.
func atPlace(fault *arm.Error, content []byte, offset int) *arm.Error {
	line, position := jsonscan.Place(content, offset)
	return fault.Saying("%s, line %d, position %d.'.", strings.TrimSuffix(fault.Message, "'."), line, position)
}

// errFound ends a scan.
var errFound = errors.New("found")

// unknownMember returns the path of the first member of text for which a value
// of type t has no field, and where the member's value begins. The decoder
// names such a member, but not its place.
func unknownMember(text []byte, t reflect.Type) (path string, at int, found bool) {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct {
		return "", 0, false
	}
	_ = jsonscan.Object(text, func(m jsonscan.Member) error {
		field, known := fieldOf(t, string(m.Key))
		if !known {
			path, at, found = string(m.Key), m.Offset, true
			return errFound
		}
		if below, offset, unknown := unknownMember(m.Value, field.Type); unknown {
			path, at, found = string(m.Key)+"."+below, m.Offset+offset, true
			return errFound
		}
		return nil
	})
	return path, at, found
}

// fieldOf returns the field of a struct into which the decoder puts a member.
func fieldOf(t reflect.Type, name string) (reflect.StructField, bool) {
	for _, field := range reflect.VisibleFields(t) {
		if tag, _, _ := strings.Cut(field.Tag.Get("json"), ","); tag != "" && strings.EqualFold(tag, name) {
			return field, true
		}
	}
	return reflect.StructField{}, false
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

// errMore: one value was read, and there is another one behind it.
var errMore = errors.New("more than one value")

// decodeFrom reads one value and nothing else; io.EOF where there is none.
func decodeFrom(from io.Reader, into any) error {
	decoder := json.NewDecoder(from)
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(into); err != nil {
		return err
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return errMore
	}
	return nil
}

// undecodable says in ARM's way what the decoder said in its own.
func undecodable(err error) *arm.Error {
	var kind *json.UnmarshalTypeError
	switch {
	case errors.As(err, &kind):
		return arm.NewError(arm.InvalidRequestContent, fmt.Sprintf("A value of the kind '%s' cannot stand here. Path '%s'", kind.Value, kind.Field)).About(kind.Field)
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return arm.NewError(arm.InvalidRequestContent, "Unexpected end of content. Path ''")
	case errors.Is(err, errMore):
		return arm.NewError(arm.InvalidRequestContent, "Additional text encountered after finished reading JSON content. Path ''")
	}
	return arm.NewError(arm.InvalidRequestContent, strings.TrimPrefix(err.Error(), "json: "))
}

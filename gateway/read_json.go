package gateway

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"portico/arm"
)

// readJSON reads the content of a request that Portico answers itself. What it
// does not know, or not of that kind, is InvalidRequestContent, with the path of
// the member as ARM tells it.
func readJSON(content []byte, into any) *arm.Error {
	if err := decodeFrom(bytes.NewReader(content), into); err != nil {
		return undecodable(err)
	}
	return nil
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

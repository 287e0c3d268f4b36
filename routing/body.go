package routing

import (
	"bytes"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"strings"

	"portico/arm"
	"portico/internal/jsontext"
)

// Body is the part of a request's content that the front door reads; the
// bytes are forwarded to the provider unchanged.
type Body struct {
	// Location is the top-level member of that name, as written; HasLocation reports
	// whether it is present and not null.
	Location    string
	HasLocation bool
	// LocationPending reports that the content is planned, and its location is
	// not known yet.
	LocationPending bool
	// Tags are the top-level tags; HasTags reports whether there are any to check.
	// TagCount is their number: tags beyond [arm.MaxTags] are only counted.
	Tags     map[string]string
	HasTags  bool
	TagCount int
	// NullTags reports whether tags is null.
	NullTags bool
	// NamedType is the type in a name check, from [ReadNameCheck].
	NamedType string
}

// longestLocation bounds a location as written, far beyond any location's name.
const longestLocation = 1024

// ReadObject checks that content is one JSON object and reads its location and tags, by
// a scan of the top-level members. It refuses content with either of them twice or in
// another casing: the provider might read the other one.
func ReadObject(content []byte) (Body, *arm.Error) {
	var body Body
	var fault *arm.Error
	seenLocation, seenTags := false, false
	err := jsontext.Object(content, func(m jsontext.Member) error {
		key, value := m.Key, m.Value
		switch {
		case bytes.EqualFold(key, []byte("location")):
			if fault = ambiguous(key, "location", seenLocation); fault != nil {
				return fault
			}
			seenLocation = true
			if jsontext.Null(value) {
				return nil
			}
			if len(value) > longestLocation {
				fault = badContent(fmt.Sprintf("The location has %d bytes, and may have %d. Path 'location'", len(value), longestLocation)).WithTarget("location")
				return fault
			}
			text, ok := jsontext.Text(value)
			if !ok {
				fault = badContent("The location is no string. Path 'location'").WithTarget("location")
				return fault
			}
			body.Location, body.HasLocation = text, true
		case bytes.EqualFold(key, []byte("tags")):
			if fault = ambiguous(key, "tags", seenTags); fault != nil {
				return fault
			}
			seenTags = true
			if jsontext.Null(value) {
				body.NullTags = true
				return nil
			}
			if fault = readTags(value, &body); fault != nil {
				return fault
			}
		}
		return nil
	})
	if fault != nil {
		return body, fault
	}
	if err != nil {
		return body, badContent(err.Error())
	}
	return body, nil
}

func ambiguous(key []byte, name string, seen bool) *arm.Error {
	switch {
	case seen:
		return badContent("The member '" + name + "' occurs twice. Path '" + name + "'").WithTarget(name)
	case string(key) != name:
		return badContent("The member '" + string(key) + "' is spelled '" + name + "'. Path '" + string(key) + "'").WithTarget(string(key))
	}
	return nil
}

// CheckTagCount returns an error if there are more tags than limit.
func (b Body) CheckTagCount(limit int) *arm.Error {
	if b.TagCount > limit {
		return arm.NewError(arm.TagCountExceeded, b.TagCount, limit).WithTarget("tags")
	}
	return nil
}

func readTags(value []byte, body *Body) *arm.Error {
	err := jsontext.Object(value, func(m jsontext.Member) error {
		body.TagCount++
		if m.Value[0] != '"' {
			return errNoText
		}
		return nil
	})
	switch {
	case errors.Is(err, errNoText):
		return badContent("A tag's value is no string. Path 'tags'").WithTarget("tags")
	case err != nil:
		return badContent("The tags are no object. Path 'tags'").WithTarget("tags")
	}
	body.HasTags = true
	if body.TagCount > arm.MaxTags {
		return nil
	}
	body.Tags = make(map[string]string, body.TagCount)
	return keepTags(value, body)
}

// keepTags reads tags after they have been checked.
func keepTags(value []byte, body *Body) (fault *arm.Error) {
	_ = jsontext.Object(value, func(m jsontext.Member) error {
		name := string(m.Key)
		if _, seen := body.Tags[name]; seen {
			fault = badContent("The tag name '" + name + "' occurs twice. Path 'tags'").WithTarget("tags")
			return fault
		}
		body.Tags[name], _ = jsontext.Text(m.Value)
		return nil
	})
	return fault
}

var errNoText = errors.New("no text")

func badContent(what string) *arm.Error { return arm.NewError(arm.InvalidRequestContent, what) }

// CheckJSON checks that content, if there is any, is one JSON value.
func CheckJSON(content []byte) *arm.Error {
	if len(content) == 0 {
		return nil
	}
	if err := jsontext.Valid(content); err != nil {
		return badContent(err.Error())
	}
	return nil
}

// CheckContentType refuses content unless its Content-Type, given once, is JSON. It also
// refuses codings and character sets that would make a provider read something else than
// was checked here. Empty content needs no Content-Type. It returns an error, not an
// *arm.Error, so that nil stays nil.
func CheckContentType(h http.Header, content []byte) error {
	if len(content) == 0 {
		return nil
	}
	sent := strings.Join(h["Content-Type"], ", ")
	if len(h["Content-Type"]) != 1 || !plainJSON(sent) {
		return arm.NewError(arm.UnsupportedMediaType, sent).WithTarget("Content-Type")
	}
	if coding := strings.TrimSpace(strings.Join(h["Content-Encoding"], ", ")); coding != "" && !strings.EqualFold(coding, "identity") {
		return arm.NewError(arm.UnsupportedMediaType, sent).
			WithMessage("The content encoding '%s' is not supported for this resource.", coding).WithTarget("Content-Encoding")
	}
	return nil
}

// plainJSON reports whether a media type is JSON in a character set that agrees with
// UTF-8 on ASCII. Parameters that cannot be parsed may hide another set.
func plainJSON(sent string) bool {
	media, parameters, err := mime.ParseMediaType(sent)
	if errors.Is(err, mime.ErrInvalidMediaParameter) && !strings.Contains(strings.ToLower(sent), "charset") {
		err = nil
	}
	switch strings.ToLower(parameters["charset"]) {
	case "", "utf-8", "utf8", "us-ascii", "iso-8859-1":
		return err == nil && jsonMedia(media)
	}
	return false
}

func jsonMedia(media string) bool {
	return media == "application/json" || media == "text/json" ||
		strings.HasPrefix(media, "application/") && strings.HasSuffix(media, "+json")
}

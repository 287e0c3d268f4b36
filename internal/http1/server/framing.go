package server

import (
	"net/http"
	"net/textproto"
	"strings"

	"portico/tracing/headers"
)

// frame determines the end of a request's content, whether another reader
// could see another end, and whether the connection closes after the answer.
func (x *exchange) frame() error {
	r := &x.request
	old := r.ProtoMinor == 0
	closes := headers.HasToken(r.Header["Connection"], "close")
	r.Close = closes || old && !headers.HasToken(r.Header["Connection"], "keep-alive")
	x.last = closes || old || hasClose(r.Header["Connection"]) // others may read a kept HTTP/1.0 connection differently
	chunked, err := isChunked(r)
	if err != nil {
		return err
	}
	length, ok := headers.ContentLength(r.Header)
	if !ok {
		return errLength
	}
	if !chunked {
		r.ContentLength = max(0, length)
		return nil
	}
	if err := dropTrailers(r.Header); err != nil {
		return err
	}
	x.context.ambiguous = length >= 0
	x.last = true
	delete(r.Header, "Content-Length")
	r.ContentLength, r.TransferEncoding = -1, []string{"chunked"}
	return nil
}

// hasClose reports whether the first value contains close. net/http honours
// only that value.
func hasClose(values []string) bool {
	if len(values) == 0 {
		return false
	}
	for word := range strings.FieldsFuncSeq(values[0], func(c rune) bool { return c == ' ' || c == '\t' || c == ',' }) {
		if headers.EqualFold(word, "close") {
			return true
		}
	}
	return false
}

func isChunked(r *http.Request) (bool, error) {
	encodings, sent := r.Header["Transfer-Encoding"]
	switch {
	case !sent:
		return false, nil
	case r.ProtoMinor == 0:
		return false, errOldEncoding
	case len(encodings) != 1 || !headers.EqualFold(encodings[0], "chunked"):
		return false, errEncoding
	}
	delete(r.Header, "Transfer-Encoding")
	return true, nil
}

// dropTrailers checks the names of trailers, which are otherwise dropped.
func dropTrailers(h http.Header) error {
	for _, value := range h["Trailer"] {
		for name := range strings.SplitSeq(value, ",") {
			switch textproto.CanonicalMIMEHeaderKey(headers.TrimSpace(name)) {
			case "Transfer-Encoding", "Trailer", "Content-Length":
				return errTrailer
			}
		}
	}
	delete(h, "Trailer")
	return nil
}

// checkExpect determines whether the client waits for 100 Continue before it
// sends its content.
func (x *exchange) checkExpect() error {
	expected := x.request.Header["Expect"]
	if len(expected) == 0 || expected[0] == "" {
		return nil
	}
	if !headers.HasToken(expected[:1], "100-continue") {
		return errExpectation
	}
	x.body.awaited = x.request.ProtoMinor > 0 && x.request.ContentLength != 0
	return nil
}

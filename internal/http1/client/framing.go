package client

import (
	"errors"
	"net/http"

	"portico/tracing/headers"
)

// bodyKind defines how an answer's body ends.
type bodyKind uint8

const (
	noBody bodyKind = iota
	lengthBody
	chunkedBody
	endlessBody // it ends with the connection
)

var (
	errLength   = errors.New("the answer's Content-Length is not one number")
	errEncoding = errors.New("the answer has a Transfer-Encoding other than chunked")
	errTrailer  = errors.New("the answer names a trailer that would frame it")
)

// frame determines the end of an answer's body (RFC 9112, 6.3), and whether
// to close the connection after it: because the answer requests it, or
// because others might see another end. It removes hop-by-hop headers.
func frame(response *http.Response, method string) (kind bodyKind, length int64, ends bool, err error) {
	h := response.Header
	ends = closes(response)
	chunked, err := isChunked(response)
	if err != nil {
		return 0, 0, false, err
	}
	length, ok := headers.ContentLength(h)
	if !ok {
		return 0, 0, false, errLength
	}
	if err := checkTrailers(h, chunked); err != nil {
		return 0, 0, false, err
	}
	response.ContentLength = 0
	switch status := response.StatusCode; {
	case method == http.MethodHead:
		response.ContentLength = length
		return noBody, 0, ends, nil
	case status < http.StatusOK || status == http.StatusNoContent || status == http.StatusNotModified:
		// An answer that announces a body here may send one.
		announced := chunked || length > 0 && status != http.StatusNotModified
		return noBody, 0, ends || announced || status < http.StatusOK, nil
	case chunked:
		response.ContentLength = -1
		delete(h, "Content-Length")
		return chunkedBody, 0, ends || length >= 0, nil // two lengths
	}
	response.ContentLength = length
	switch {
	case length < 0:
		return endlessBody, 0, true, nil
	case length == 0:
		return noBody, 0, ends, nil
	}
	return lengthBody, length, ends, nil
}

// closes reports whether the provider closes the connection after the answer.
func closes(response *http.Response) bool {
	connection := response.Header["Connection"]
	if response.ProtoMinor == 0 {
		return headers.HasToken(connection, "close") || !headers.HasToken(connection, "keep-alive")
	}
	if headers.HasToken(connection, "close") {
		delete(response.Header, "Connection")
		return true
	}
	return false
}

func isChunked(response *http.Response) (bool, error) {
	encodings, sent := response.Header["Transfer-Encoding"]
	if !sent {
		return false, nil
	}
	delete(response.Header, "Transfer-Encoding")
	if response.ProtoMinor == 0 || len(encodings) != 1 || !headers.EqualFold(encodings[0], "chunked") {
		return false, errEncoding
	}
	return true, nil
}

// checkTrailers checks the names of trailers, which are otherwise dropped.
func checkTrailers(h http.Header, chunked bool) error {
	named, sent := h["Trailer"]
	if !sent || !chunked {
		return nil
	}
	delete(h, "Trailer")
	for _, framing := range [...]string{"Transfer-Encoding", "Trailer", "Content-Length"} {
		if headers.HasToken(named, framing) {
			return errTrailer
		}
	}
	return nil
}

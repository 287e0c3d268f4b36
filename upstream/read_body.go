package upstream

import (
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"strings"

	"portico/internal/jsontext"
)

// ReadAll reads and decompresses the body of an answer for parsing as JSON: without a
// byte order mark. It returns [ErrTooLarge] if the decompressed body exceeds limit.
func ReadAll(h http.Header, body io.Reader, limit int64) ([]byte, error) {
	text, err := ReadBytes(h, body, limit)
	return jsontext.WithoutMark(text), err
}

// ReadBytes is like ReadAll, for a body that is forwarded, so that it keeps
// the byte order mark.
func ReadBytes(h http.Header, body io.Reader, limit int64) ([]byte, error) {
	plain, _, err := decompressed(h, body)
	if err != nil {
		return nil, err
	}
	return readGrowing(plain, limit, func(int64) error { return nil })
}

// readBody is like ReadAll, for an answer whose length may be known. It calls
// reserve before it allocates.
func readBody(answer *http.Response, limit int64, reserve func(int64) error, buffer func(int64) []byte) ([]byte, error) {
	body, packed, err := decompressed(answer.Header, answer.Body)
	switch {
	case err != nil:
		return nil, err
	case packed || answer.ContentLength < 0:
		content, err := readGrowing(body, limit, reserve)
		return jsontext.WithoutMark(content), err
	case answer.ContentLength > limit:
		return nil, ErrTooLarge
	}
	if err := reserve(answer.ContentLength); err != nil {
		return nil, err
	}
	var content []byte
	if buffer != nil {
		content = buffer(answer.ContentLength)
	} else {
		content = make([]byte, answer.ContentLength)
	}
	if _, err := io.ReadFull(body, content); err != nil {
		return nil, err
	}
	return jsontext.WithoutMark(content), nil
}

func decompressed(h http.Header, body io.Reader) (plain io.Reader, packed bool, err error) {
	switch encoding := h.Get("Content-Encoding"); strings.ToLower(encoding) {
	case "", "identity":
		return body, false, nil
	case "gzip":
		plain, err := gzip.NewReader(body)
		if err != nil {
			return nil, true, fmt.Errorf("its gzip encoding is broken: %w", err)
		}
		return plain, true, nil
	default:
		return nil, true, fmt.Errorf("its encoding %q was not asked for", encoding)
	}
}

// initialBuffer is the first allocation for an answer of unknown length.
const initialBuffer = 16 << 10

// readGrowing reads into a buffer that doubles, up to one byte beyond the limit.
func readGrowing(body io.Reader, limit int64, reserve func(int64) error) ([]byte, error) {
	var content []byte
	for {
		if len(content) == cap(content) {
			room := min(max(initialBuffer, 2*int64(cap(content))), limit+1)
			if err := reserve(room - int64(cap(content))); err != nil {
				return nil, err
			}
			content = append(make([]byte, 0, room), content...)
		}
		n, err := body.Read(content[len(content):cap(content)])
		content = content[:len(content)+n]
		switch {
		case int64(len(content)) > limit:
			return nil, ErrTooLarge
		case err == io.EOF:
			return content, nil
		case err != nil:
			return nil, err
		}
	}
}

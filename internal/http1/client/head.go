package client

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"portico/tracing/headers"
)

// Bounds of the bytes before an answer's body.
const (
	maxLines   = 2000 // of one head
	maxInterim = 64   // interim answers before the final one
)

var (
	errTooLong     = errors.New("the answer's headers, or a line of its chunks, are longer than they may be")
	errTooMany     = errors.New("the answer has more headers than it may have")
	errInterim     = errors.New("the provider sends interim answers without an end")
	errStatusLine  = errors.New("what came is no status line of HTTP/1.0 or HTTP/1.1")
	errFieldLine   = errors.New("a line of the answer's headers is no header")
	errFolded      = errors.New("a header of the answer is folded")
	errEndedInHead = fmt.Errorf("the connection ended within the answer's headers: %w", io.ErrUnexpectedEOF)
)

// readHead reads a head of at most limit bytes. It checks each line as it
// arrives, so that it need not wait for the end of something that is not an
// answer. The head is valid until the next read.
func (c *conn) readHead(limit int) (head []byte, lines int, err error) {
	if c.r == c.w {
		c.r, c.w = 0, 0
	}
	for at := 0; ; {
		end := bytes.IndexByte(c.in[c.r+at:c.w], '\n')
		if end < 0 {
			if c.w-c.r > limit {
				return nil, 0, errTooLong
			}
			c.room()
			if err := c.fill(); err != nil {
				return nil, 0, c.endedInHead(err)
			}
			continue
		}
		line := bytes.TrimSuffix(c.in[c.r+at:c.r+at+end], []byte{'\r'})
		at += end + 1
		switch {
		case at > limit:
			return nil, 0, errTooLong
		case lines > 0 && len(line) == 0:
			head = c.in[c.r : c.r+at]
			c.r += at
			return head, lines - 1, nil
		case lines > maxLines:
			return nil, 0, errTooMany
		case lines == 0:
			err = checkStatusLine(line)
		default:
			err = checkField(line)
		}
		if err != nil {
			return nil, 0, err
		}
		lines++
	}
}

// endedInHead distinguishes a connection that ended before an answer from one
// that ended in it.
func (c *conn) endedInHead(err error) error {
	switch {
	case c.r == c.w:
		return fmt.Errorf("%w: %w", errUnanswered, err)
	case errors.Is(err, io.EOF):
		return errEndedInHead
	}
	return err
}

const protocol = "HTTP/1."

// checkStatusLine checks for HTTP/1.x, a space, three digits, and either the
// end or a space and more.
func checkStatusLine(line []byte) error {
	const status = len(protocol) + 2
	switch {
	case len(line) < status+3,
		string(line[:len(protocol)]) != protocol,
		!headers.IsDigits(line[len(protocol) : len(protocol)+1]),
		line[status-1] != ' ',
		!headers.IsDigits(line[status : status+3]),
		len(line) > status+3 && line[status+3] != ' ':
		return errStatusLine
	}
	return nil
}

// checkField checks a header line. It refuses a space before the colon,
// because other readers then see another name.
func checkField(line []byte) error {
	if line[0] == ' ' || line[0] == '\t' {
		return errFolded
	}
	colon := bytes.IndexByte(line, ':')
	if colon < 0 || !headers.IsToken(line[:colon]) || !headers.IsFieldValue(line[colon+1:]) {
		return errFieldLine
	}
	return nil
}

// parseHead fills in the response's status and headers from a checked head
// with so many header lines.
func parseHead(head []byte, lines int, response *http.Response) {
	text := string(head) // all strings share its memory
	line, text := cutLine(text)
	response.Proto = line[:len(protocol)+1]
	response.ProtoMajor, response.ProtoMinor = 1, int(line[len(protocol)]-'0')
	response.Status = line[len(protocol)+2:]
	response.StatusCode = int(response.Status[0]-'0')*100 + int(response.Status[1]-'0')*10 + int(response.Status[2]-'0')

	header, values := make(http.Header, lines), make([]string, lines)
	for range lines {
		line, text = cutLine(text)
		name, value, _ := strings.Cut(line, ":")
		name, value = http.CanonicalHeaderKey(name), headers.TrimSpace(value)
		if known := header[name]; known != nil {
			header[name] = append(known, value)
			continue
		}
		values[0] = value
		header[name], values = values[:1:1], values[1:]
	}
	if pragma := header["Pragma"]; len(pragma) > 0 && pragma[0] == "no-cache" && header["Cache-Control"] == nil {
		header["Cache-Control"] = []string{"no-cache"} // like RFC 7234 5.4 and net/http
	}
	response.Header = header
}

func cutLine(text string) (line, rest string) {
	end := strings.IndexByte(text, '\n')
	return strings.TrimSuffix(text[:end], "\r"), text[end+1:]
}

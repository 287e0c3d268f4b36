package http1

import (
	"net/http"
	"strconv"
	"time"
)

// Refusal is why bytes are not taken for a request.
type Refusal struct {
	Status int
	Header string // which one is wrong, "*" for their number or form; "": the request line
	Why    string // for the client, without anything that it sent
}

// Error implements error.
func (r *Refusal) Error() string { return r.Why }

// What is refused. Of what net/http reads, those marked are refused as well.
var (
	errRequestLine = &Refusal{http.StatusBadRequest, "", "the request line is malformed"}
	errTarget      = &Refusal{http.StatusBadRequest, "", "the request target is malformed"}
	errFieldLine   = &Refusal{http.StatusBadRequest, "*", "a line of the headers is no header"}
	errHost        = &Refusal{http.StatusBadRequest, "Host", "there must be one Host header, and it must be valid"}
	errLength      = &Refusal{http.StatusBadRequest, "Content-Length", "the Content-Length is not one number"}
	errTrailer     = &Refusal{http.StatusBadRequest, "Trailer", "a trailer is named that would frame the content"}
	errEncoding    = &Refusal{http.StatusNotImplemented, "Transfer-Encoding", "the only Transfer-Encoding that is understood is chunked, once"}
	errExpectation = &Refusal{http.StatusExpectationFailed, "Expect", "the only expectation that can be met is 100-continue"}
	errVersion     = &Refusal{http.StatusHTTPVersionNotSupported, "", "the version is neither HTTP/1.0 nor HTTP/1.1"} // net/http reads HTTP/1.2 and later
	errTooLarge    = &Refusal{http.StatusRequestHeaderFieldsTooLarge, "*", "the request line and the headers take more bytes than they may"}

	errFolded      = &Refusal{http.StatusBadRequest, "*", "a header goes on in another line"}                  // net/http joins the lines
	errOldEncoding = &Refusal{http.StatusBadRequest, "Transfer-Encoding", "HTTP/1.0 has no Transfer-Encoding"} // net/http ignores that
	errNoHost      = &Refusal{http.StatusBadRequest, "Host", "the request has no Host header"}                 // net/http wants none of a CONNECT
	errManyLines   = &Refusal{http.StatusRequestHeaderFieldsTooLarge, "*", "there are too many headers"}       // net/http bounds their bytes alone
)

// refusalTime is how long a client has to take a refusal.
const refusalTime = 5 * time.Second

// refuse answers bytes that are no request. It is the connection's last answer.
func (c *conn) refuse(why *Refusal) {
	contentType, body := "text/plain; charset=utf-8", []byte(why.Why)
	if describe := c.server.options.Describe; describe != nil {
		contentType, body = describe(*why)
	}
	out := c.out[:0]
	out = append(out, "HTTP/1.1 "...)
	out = strconv.AppendInt(out, int64(why.Status), 10)
	out = append(append(append(out, ' '), http.StatusText(why.Status)...), "\r\nContent-Type: "...)
	out = append(append(out, contentType...), "\r\nDate: "...)
	out = append(c.server.date.append(out, time.Now()), "\r\nContent-Length: "...)
	out = strconv.AppendInt(out, int64(len(body)), 10)
	out = append(append(out, "\r\nX-Content-Type-Options: nosniff\r\nConnection: close\r\n\r\n"...), body...)
	c.writes.until(c.Conn.SetWriteDeadline, time.Now().Add(refusalTime))
	if _, err := c.Write(out); err == nil {
		c.linger()
	}
}

package server

import (
	"net/http"
	"time"

	"portico/internal/connections"
)

// Reasons for refusals. net/http accepts the requests with a comment that mentions it.
var (
	errRequestLine = refusal(http.StatusBadRequest, "", "the request line is malformed")
	errTarget      = refusal(http.StatusBadRequest, "", "the request target is malformed")
	errFieldLine   = refusal(http.StatusBadRequest, "*", "a line of the headers is no header")
	errHost        = refusal(http.StatusBadRequest, "Host", "there must be one Host header, and it must be valid")
	errLength      = refusal(http.StatusBadRequest, "Content-Length", "the Content-Length is not one number")
	errTrailer     = refusal(http.StatusBadRequest, "Trailer", "a trailer is named that would frame the content")
	errEncoding    = refusal(http.StatusNotImplemented, "Transfer-Encoding", "the only Transfer-Encoding that is understood is chunked, once")
	errExpectation = refusal(http.StatusExpectationFailed, "Expect", "the only expectation that can be met is 100-continue")
	errVersion     = refusal(http.StatusHTTPVersionNotSupported, "", "the version is neither HTTP/1.0 nor HTTP/1.1") // net/http accepts HTTP/1.2 and later
	errTooLarge    = refusal(http.StatusRequestHeaderFieldsTooLarge, "*", "the request line and the headers take more bytes than they may")

	errFolded      = refusal(http.StatusBadRequest, "*", "a header goes on in another line")                  // net/http joins the lines
	errOldEncoding = refusal(http.StatusBadRequest, "Transfer-Encoding", "HTTP/1.0 has no Transfer-Encoding") // net/http ignores that
	errNoHost      = refusal(http.StatusBadRequest, "Host", "the request has no Host header")                 // net/http requires none for CONNECT
	errManyLines   = refusal(http.StatusRequestHeaderFieldsTooLarge, "*", "there are too many headers")       // net/http bounds only their bytes
)

func refusal(status int, header, why string) *connections.Refusal {
	return &connections.Refusal{Status: status, Header: header, Why: why}
}

// refusalTime is the client's time to take a refusal.
const refusalTime = 5 * time.Second

// refuse answers bytes that are not a request, as the connection's last answer.
func (c *conn) refuse(why *connections.Refusal) {
	c.writes.extend(c.Conn.SetWriteDeadline, time.Now().Add(refusalTime))
	if _, err := c.Write(why.AppendAnswer(c.out[:0], c.server.options.Describe)); err == nil {
		c.linger(-1, time.Time{})
	}
}

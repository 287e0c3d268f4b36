package connections

import (
	"bytes"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Refusal says why bytes are no request.
type Refusal struct {
	Status int
	Header string // which one is wrong, "*" for their number or form; "": the request line
	Why    string // for the client, without anything that it sent
}

// Error implements error.
func (r *Refusal) Error() string { return r.Why }

// Describer returns the content of the answer to a refusal, and its type.
type Describer func(Refusal) (contentType string, content []byte)

// AppendAnswer appends the answer to a refusal, the last one of its connection. It is
// plain text if describe is nil.
func (r *Refusal) AppendAnswer(to []byte, describe Describer) []byte {
	contentType, content := "text/plain; charset=utf-8", []byte(r.Why)
	if describe != nil {
		contentType, content = describe(*r)
	}
	to = append(to, "HTTP/1.1 "...)
	to = strconv.AppendInt(to, int64(r.Status), 10)
	to = append(append(append(to, ' '), http.StatusText(r.Status)...), "\r\nContent-Type: "...)
	to = append(append(to, contentType...), "\r\nDate: "...)
	to = time.Now().UTC().AppendFormat(to, http.TimeFormat)
	to = append(to, "\r\nContent-Length: "...)
	to = strconv.AppendInt(to, int64(len(content)), 10)
	return append(append(to, "\r\nX-Content-Type-Options: nosniff\r\nConnection: close\r\n\r\n"...), content...)
}

// Write implements [net.Conn]. net/http's answers to bytes that are no request go out
// in the words of the table's describer, because no handler sees such bytes.
func (s *scannedConn) Write(p []byte) (int, error) {
	describe := s.listener.table.options.Describe
	if s.handled || describe == nil {
		return s.Conn.Write(p)
	}
	why := refusalIn(p)
	if why == nil {
		return s.Conn.Write(p)
	}
	if _, err := s.Conn.Write(why.AppendAnswer(nil, describe)); err != nil {
		return 0, err
	}
	return len(p), nil
}

// refusalIn reads an answer that net/http gives before it calls a handler; nil if it is
// none. Its content, if any, repeats the status and may say why.
func refusalIn(answer []byte) *Refusal {
	rest, found := bytes.CutPrefix(answer, []byte("HTTP/1.1 "))
	if !found || len(rest) < 3 {
		return nil
	}
	status, _ := strconv.Atoi(string(rest[:3])) // 0 where it is no number
	if status < http.StatusBadRequest {
		return nil
	}
	_, content, _ := bytes.Cut(rest, []byte("\r\n\r\n"))
	_, why, _ := strings.Cut(string(content), ": ")
	r := &Refusal{Status: status, Why: why}
	switch {
	case status == http.StatusExpectationFailed:
		r.Header, r.Why = "Expect", "the only expectation that can be met is 100-continue"
	case status == http.StatusNotImplemented:
		r.Header, r.Why = "Transfer-Encoding", "the only Transfer-Encoding that is understood is chunked, once"
	case status == http.StatusRequestHeaderFieldsTooLarge:
		r.Header, r.Why = "*", "the request line and the headers take more bytes than they may"
	case status == http.StatusHTTPVersionNotSupported:
		r.Why = "the version is neither HTTP/1.0 nor HTTP/1.1"
	case strings.Contains(why, "Host"):
		r.Header = "Host"
	case why == "":
		r.Header, r.Why = "*", "a header, or the request line, is malformed"
	default:
		r.Header = "*"
	}
	return r
}

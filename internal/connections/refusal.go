package connections

import (
	"net/http"
	"strconv"
	"time"
)

// Refusal explains why bytes are not a request.
type Refusal struct {
	Status int
	Header string // the wrong header, "*" for their number or form; "": the request line
	Why    string // for the client; it quotes nothing that the client sent
}

// Error implements error.
func (r *Refusal) Error() string { return r.Why }

// Describer returns the content of the answer to a refusal, and its type.
type Describer func(Refusal) (contentType string, content []byte)

// AppendAnswer appends the answer to a refusal, the connection's last one. It
// is plain text if describe is nil.
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

package contoso

import (
	"bytes"
	"encoding/json"
	"maps"
	"net/http"
	"strconv"
)

const jsonContent = "application/json; charset=utf-8"

// answer is the complete answer to the client, before any of it is sent, so that a
// fault can change it.
type answer struct {
	status int
	header http.Header
	body   []byte
}

func emptyAnswer(status int) answer {
	return answer{status: status, header: http.Header{}}
}

func bodyAnswer(status int, body []byte) answer {
	a := emptyAnswer(status)
	a.header.Set("Content-Type", jsonContent)
	a.body = body
	return a
}

func jsonAnswer(status int, v any) answer {
	return bodyAnswer(status, encode(v))
}

// encode renders values of contoso's own types, which always have a JSON
// form. It does not escape <, > and &: clients get their text back unchanged.
func encode(v any) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic("contoso: a value without a JSON form: " + err.Error())
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

func (a answer) copyHeader(w http.ResponseWriter) {
	maps.Copy(w.Header(), a.header)
}

func (a answer) send(w http.ResponseWriter) {
	a.copyHeader(w)
	if bodyAllowed(a.status) {
		w.Header().Set("Content-Length", strconv.Itoa(len(a.body)))
	}
	w.WriteHeader(a.status)
	_, _ = w.Write(a.body) // the client may have gone; nothing depends on it
}

func bodyAllowed(status int) bool {
	return status >= 200 && status != http.StatusNoContent && status != http.StatusNotModified
}

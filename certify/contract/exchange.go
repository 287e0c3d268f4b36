package contract

import (
	"maps"
	"net/http"
	"slices"
	"strings"
)

// credential names the variable that stands for a caller's bearer token in what is shown.
var credential = map[Caller]string{Owner: "$OWNER_TOKEN", Colleague: "$COLLEAGUE_TOKEN", Stranger: "$STRANGER_TOKEN"}

// exchange is what a report shows of an answer and its request.
func (a *Answer) exchange() *Exchange {
	if a == nil || a.sent == nil {
		return nil
	}
	header := a.sent.Header.Clone()
	if header.Get("Authorization") != "" {
		header.Set("Authorization", "Bearer "+credential[a.call.caller])
	}
	e := &Exchange{
		Method: a.call.method, URL: a.sent.URL.String(), RequestHeader: header, RequestBody: string(a.call.body),
		Status: a.Status, Header: a.Header, Body: string(a.Body),
	}
	e.Curl = curl(e)
	return e
}

// curl writes the request as a line for a POSIX shell.
func curl(e *Exchange) string {
	words := []string{"curl", "-i"}
	switch e.Method {
	case http.MethodGet:
	case http.MethodHead:
		words = append(words, "--head")
	default:
		words = append(words, "-X", e.Method)
	}
	for _, name := range slices.Sorted(maps.Keys(e.RequestHeader)) {
		for _, value := range e.RequestHeader[name] {
			words = append(words, "-H", quote(name+": "+value, name == "Authorization"))
		}
	}
	if e.RequestBody != "" {
		words = append(words, "--data-binary", quote(e.RequestBody, false))
	}
	return strings.Join(append(words, quote(e.URL, false)), " ")
}

// quote quotes a word for a POSIX shell; variables in it are replaced only where that is
// said.
func quote(word string, variables bool) string {
	if variables {
		return `"` + word + `"`
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

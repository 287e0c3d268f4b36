package contoso

import (
	"bytes"
	"cmp"
	"io"
	"net/http"
	"strings"
	"time"
)

// These are freedoms that providers take: what a front door must live with, though
// it makes it hard to know what there is. The package comment lists them among the
// misbehaviours.

// ingressPage is the code of not-found by which no provider answers at all.
const ingressPage = "page"

// isWord holds for what can be an error code.
func isWord(text string) bool {
	return text != "" && strings.IndexFunc(text, func(c rune) bool { return (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') }) < 0
}

// absence is a 404 that says nothing of the resource that was asked for.
func absence(code string) answer {
	if code != ingressPage {
		return failed(notFound(code, "Something else than the resource was not found, as asked."))
	}
	a := emptyAnswer(http.StatusNotFound)
	a.header.Set("Content-Type", "text/html; charset=utf-8")
	a.body = []byte("<!DOCTYPE html>\n<html><body><h1>404 Not Found</h1><p>ingress</p></body></html>\n")
	return a
}

// ofClient tells a client's call, which the front door passes on with the caller's
// identity, from one of its own.
func ofClient(h http.Header) bool { return h.Get("x-ms-client-object-id") != "" }

// free gives a new operation the freedoms that its call draws.
func (o *operation) free(c *call, now time.Time) {
	switch c.fault.name {
	case pollsLate:
		o.Unseen = now.Add(c.fault.duration)
	case pollsStrict:
		o.Version = c.version
	case unshown:
		o.Unshown = o.Kind == deleteOperation && c.order.mode != modeNoURL // else nothing would tell of it
	}
}

// permits judges the api-version of a poll.
func (o *operation) permits(c *call) error {
	given := strings.Join(c.query["api-version"], ",")
	if o.Version == "" || same(given, o.Version) {
		return nil
	}
	return badRequest("InvalidApiVersionParameter", "The api-version '%s' is invalid. The supported version is '%s'.", given, o.Version)
}

// overlooked answers a DELETE that does not see what is about to appear.
func overlooked(c *call) (answer, error) {
	if c.fault.number == http.StatusNotFound {
		return answer{}, resourceNotFound(c.address)
	}
	return emptyAnswer(http.StatusNoContent), nil
}

// endUnshown has deletes that do not show take nothing any more that comes after
// the end of the resource, or of one above it.
func (t *tx) endUnshown(key string) {
	for id, o := range t.running {
		if !o.Unshown || o.Key != key && !strings.HasPrefix(o.Key, key+"/") {
			continue
		}
		c := *o
		c.Unshown = false
		t.setOperation(id, &c)
	}
}

// receiveHalf takes half of the content in and resets the connection.
func receiveHalf(w http.ResponseWriter, r *http.Request) {
	half := cmp.Or(max(0, r.ContentLength), 2) / 2
	_, _ = io.CopyN(io.Discard, r.Body, half) // the client may have gone
	reset(w)
}

// sendHalf sends the head and half of the body, or half of the head where there is
// no body, and ends the connection.
func sendHalf(w http.ResponseWriter, a answer) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		panic(http.ErrAbortHandler) // as near as other transports come
	}
	defer conn.Close()
	a.copyHeader(w)
	whole := http.Response{
		StatusCode: a.status, ProtoMajor: 1, ProtoMinor: 1, Header: w.Header(),
		Body: io.NopCloser(bytes.NewReader(a.body)), ContentLength: int64(len(a.body)),
	}
	var text bytes.Buffer
	if whole.Write(&text) != nil { // a buffer takes everything
		return
	}
	half := text.Len() - (len(a.body)+1)/2
	if len(a.body) == 0 {
		half = text.Len() / 2
	}
	_, _ = conn.Write(text.Bytes()[:half]) // the client may have gone
}

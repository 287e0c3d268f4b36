package contoso

import (
	"bytes"
	"cmp"
	"io"
	"net/http"
	"portico/provider/contoso/fault"
	"strings"
	"time"
)

// These faults are freedoms that real providers take. A front door must
// tolerate them, although they obscure which resources exist.

// ingressPage is the argument of not-found for an ingress's page, which lacks
// a provider's error body.
const ingressPage = "page"

// absence returns a 404 that proves nothing about the requested resource.
func absence(code string) answer {
	if code != ingressPage {
		return failed(notFound(code, "Something else than the resource was not found, as asked."))
	}
	a := emptyAnswer(http.StatusNotFound)
	a.header.Set("Content-Type", "text/html; charset=utf-8")
	a.body = []byte("<!DOCTYPE html>\n<html><body><h1>404 Not Found</h1><p>ingress</p></body></html>\n")
	return a
}

// applyFreedom applies the fault of the call to its new operation.
func (o *operation) applyFreedom(c *call, now time.Time) {
	switch c.fault.Name {
	case fault.PollsLate:
		o.Unseen = now.Add(c.fault.Duration)
	case fault.Refuse:
		o.Refusal = c.wholeError()
	case fault.PollsStrict:
		o.Version = c.version
	case fault.Unshown:
		o.Unshown = o.Kind == deleteOperation && c.order.mode != modeNoURL // otherwise nothing would show it
	}
}

// permits refuses a poll with the wrong api-version.
func (o *operation) permits(c *call) error {
	given := strings.Join(c.query["api-version"], ",")
	if o.Version == "" || same(given, o.Version) {
		return nil
	}
	return badRequest("InvalidApiVersionParameter", "The api-version '%s' is invalid. The supported version is '%s'.", given, o.Version)
}

// overlooked answers a DELETE that ignores an accepted creation.
func overlooked(c *call) (answer, error) {
	if c.fault.Number == http.StatusNotFound {
		return answer{}, resourceNotFound(c.address)
	}
	return emptyAnswer(http.StatusNoContent), nil
}

// endUnshown ends the unshown deletes of a resource that is gone, and of
// resources below it: they must not remove a later resource of the same name.
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

// receiveHalf reads half of the content and resets the connection.
func receiveHalf(w http.ResponseWriter, r *http.Request) {
	half := cmp.Or(max(0, r.ContentLength), 2) / 2
	_, _ = io.CopyN(io.Discard, r.Body, half) // the client may have gone
	reset(w)
}

// sendHalf sends the head and half of the body, or half of the head if there is no
// body, and closes the connection.
func sendHalf(w http.ResponseWriter, a answer) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		panic(http.ErrAbortHandler) // the closest that other transports offer
	}
	defer conn.Close()
	a.copyHeader(w)
	complete := http.Response{
		StatusCode: a.status, ProtoMajor: 1, ProtoMinor: 1, Header: w.Header(),
		Body: io.NopCloser(bytes.NewReader(a.body)), ContentLength: int64(len(a.body)),
	}
	var text bytes.Buffer
	if complete.Write(&text) != nil { // a buffer takes everything
		return
	}
	half := text.Len() - (len(a.body)+1)/2
	if len(a.body) == 0 {
		half = text.Len() / 2
	}
	_, _ = conn.Write(text.Bytes()[:half]) // the client may have gone
}

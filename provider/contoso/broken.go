package contoso

import (
	"bytes"
	"io"
	"net/http"
	"slices"
	"time"
)

// spoil applies the deliberate breaks that affect every answer.
func (b breaks) spoil(a answer) answer {
	if b[etagHeaderMissing] && len(a.body) > 0 {
		a.header.Del("ETag")
	}
	if b[async202Body] && a.status == http.StatusAccepted && len(a.body) == 0 {
		a.header.Set("Content-Type", jsonContent)
		a.body = encode(map[string]string{"status": "Accepted"})
	}
	if b[unknownState] {
		a.body = bytes.ReplaceAll(a.body, []byte(`"provisioningState":"Succeeded"`), []byte(`"provisioningState":"Ready"`))
	}
	if b[cancelledState] {
		for _, member := range []string{"provisioningState", "status"} {
			a.body = bytes.ReplaceAll(a.body, []byte(`"`+member+`":"Canceled"`), []byte(`"`+member+`":"Cancelled"`))
		}
	}
	return a
}

// mistype sets another Content-Type on the JSON answers that a break selects.
func (c *call) mistype(a answer) answer {
	_, polls := pollForm(c.address)
	success := a.status < 300
	spoilt := c.breaks[jsonAsText] ||
		c.breaks[errorsAsText] && a.status >= 400 ||
		c.breaks[operationsAsText] && success && polls ||
		c.breaks[writesAsText] && success && c.method != http.MethodGet && c.method != http.MethodHead ||
		c.breaks[listsAsText] && success && !polls && c.method == http.MethodGet && !c.address.isInstance()
	if spoilt && a.header.Get("Content-Type") == jsonContent {
		a.header.Set("Content-Type", "text/plain; charset=utf-8")
	}
	return a
}

// resourceAt returns the resource at an address, nil if there is none.
func (t *tx) resourceAt(a address) *resource {
	r := t.resource(a.key())
	if r == nil || !t.breaks[caseSensitiveNames] {
		return r
	}
	written, err := addressOf(r.ID)
	if err != nil || written.group != a.group || !slices.Equal(written.names, a.names) {
		return nil
	}
	return r
}

// lowered returns the address with its group and names in lower case.
func (a address) lowered() address {
	a.segments, a.names = slices.Clone(a.segments), slices.Clone(a.names)
	if a.group != "" {
		a.group = fold(a.group)
		a.segments[3] = a.group
	}
	for i := range a.names {
		a.names[i] = fold(a.names[i])
		a.segments[len(a.scope)+3+2*i] = a.names[i]
	}
	return a
}

// sendHeadWithBody answers HEAD with a body, which no server may do, so it
// takes the connection over. It returns false if that is not possible.
func sendHeadWithBody(w http.ResponseWriter, a answer) bool {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return false
	}
	defer conn.Close()
	a.copyHeader(w)
	w.Header().Set("Date", time.Now().UTC().Format(http.TimeFormat))
	complete := http.Response{
		StatusCode: a.status, ProtoMajor: 1, ProtoMinor: 1, Header: w.Header(), Close: true,
		Body: io.NopCloser(bytes.NewReader(a.body)), ContentLength: int64(len(a.body)),
	}
	_ = complete.Write(conn) // the client may have gone; nothing depends on it
	return true
}

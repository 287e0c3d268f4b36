package contoso

import (
	"net/http"
	"strings"
	"sync"
	"time"
)

// recordsKept bounds the recorded requests.
const recordsKept = 1000

// recordedRequest is one request as it arrived, with its unparsed target.
type recordedRequest struct {
	Time             time.Time   `json:"time"`
	Method           string      `json:"method"`
	Path             string      `json:"path"`
	Query            string      `json:"query"`
	Host             string      `json:"host"`
	Proto            string      `json:"proto"`
	Header           http.Header `json:"headers"`
	ContentLength    int64       `json:"contentLength"` // -1 if it was not declared
	TransferEncoding []string    `json:"transferEncoding,omitempty"`
}

// recorder keeps the latest requests.
type recorder struct {
	mu   sync.Mutex
	list []recordedRequest
	next int // the oldest, once the list is full
}

func (r *recorder) add(now time.Time, q *http.Request) {
	target := q.RequestURI
	if target == "" { // a request that did not come through a server
		target = q.URL.RequestURI()
	}
	path, query, _ := strings.Cut(target, "?")
	r.mu.Lock()
	defer r.mu.Unlock()
	record := recordedRequest{now.UTC(), q.Method, path, query, q.Host, q.Proto, q.Header.Clone(), q.ContentLength, q.TransferEncoding}
	if len(r.list) < recordsKept {
		r.list = append(r.list, record)
		return
	}
	r.list[r.next] = record
	r.next = (r.next + 1) % recordsKept
}

func (r *recorder) all() []recordedRequest {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append(append([]recordedRequest{}, r.list[r.next:]...), r.list[:r.next]...)
}

func (r *recorder) clear() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.list, r.next = nil, 0
}

package contract

import (
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/google/uuid"
)

// running is an operation of an outside provider.
type running struct {
	owner, tenant, subscription string
	left                        int // questions about it until it ends: it depends on no clock
	finish                      func()
	result                      func() (int, any)
	target                      string
	over                        bool
}

// headers counts a question about an operation, and ends the operation with the last.
func (o *outside) headers(op *running) {
	if op.left--; op.left < 0 && !op.over {
		op.over = true
		op.finish()
	}
}

// begin starts an operation, and names its URLs in the answer's header.
func (o *outside) begin(w http.ResponseWriter, r *http.Request, target string, finish func(), result func() (int, any)) string {
	id := uuid.NewString()
	if o.is("operation-id-is-the-request-id") {
		id = w.Header().Get("x-ms-request-id")
	}
	subscription := strings.Split(target, "/")[2]
	o.operations[id] = &running{
		owner: who(r), tenant: r.Header.Get("x-ms-home-tenant-id"), subscription: subscription,
		left: 10, finish: finish, result: result, target: target,
	}
	referer, err := url.Parse(r.Header.Get("Referer"))
	if err != nil {
		panic(refuse(400, "BadReferer"))
	}
	base := referer.Scheme + "://" + referer.Host
	switch {
	case o.is("urls-relative"):
		base = ""
	case o.is("urls-of-the-request"):
		base = "http://" + r.Host
	}
	base += "/subscriptions/" + subscription + "/providers/" + o.namespace
	if o.is("urls-elsewhere") {
		base = strings.Replace(base, "/providers/"+o.namespace, "/providers/Acme.Else", 1)
	}
	if o.put != "201" || r.Method != http.MethodPut {
		if !o.is("no-location") {
			w.Header().Set("Location", base+"/operationResults/"+id+"?api-version=2024-01-01")
		}
	}
	if o.status {
		w.Header().Set("Azure-AsyncOperation", base+"/operationStatuses/"+id+"?api-version=2024-01-01")
	}
	o.retryAfter(w)
	return id
}

func (o *outside) retryAfter(w http.ResponseWriter) {
	switch {
	case o.is("retry-after-a-date"):
		w.Header().Set("Retry-After", time.Now().UTC().Format(http.TimeFormat))
	case o.is("retry-after-too-soon"):
		w.Header().Set("Retry-After", "3")
	case o.retry != "":
		w.Header().Set("Retry-After", o.retry)
	}
}

func who(r *http.Request) string {
	if id := r.Header.Get("x-ms-client-object-id"); id != "" {
		return id
	}
	return r.Header.Get("x-ms-client-puid")
}

func (o *outside) accepted(w http.ResponseWriter, r *http.Request) {
	if o.is("accepted-with-body") {
		o.write(w, r, 202, Object{"status": "running"})
		return
	}
	w.WriteHeader(202)
}

func (o *outside) poll(w http.ResponseWriter, r *http.Request, segments []string) {
	id := segments[len(segments)-1]
	op := o.operations[id]
	if op == nil || !strings.EqualFold(op.subscription, segments[1]) && !o.is("seen-in-other-subscriptions") {
		panic(refuse(404, "NoSuchOperation"))
	}
	stranger := op.tenant != r.Header.Get("x-ms-home-tenant-id")
	if stranger && !o.is("seen-by-tenants") && !o.is("tenants-not-compared") || op.owner != who(r) && !o.is("seen-by-others") && !(stranger && o.is("seen-by-tenants")) {
		panic(refuse(404, "NoSuchOperation"))
	}
	o.headers(op)
	if strings.EqualFold(segments[4], "operationResults") {
		if !op.over && !o.is("location-done-too-soon") {
			w.Header().Set("Location", r.Header.Get("Referer"))
			o.retryAfter(w)
			o.accepted(w, r)
			return
		}
		status, body := op.result()
		o.write(w, r, status, body)
		return
	}
	word := "Acme is at work"
	if op.over {
		word = "Succeeded"
		if o.is("status-stays-odd") {
			word = "Done"
		}
	}
	form := "2006-01-02T15:04:05.0000000Z"
	if o.is("times-not-iso") {
		form = time.RFC1123
	}
	path, _, _ := strings.Cut(r.URL.Path, "?")
	body := Object{"id": path, "name": id, "status": word, "startTime": time.Now().UTC().Format(form), "percentComplete": 33.3}
	switch {
	case o.is("no-status") && !op.over:
		delete(body, "status")
	case o.is("percent-beyond"):
		body["percentComplete"] = 133
	case o.is("properties-while-it-runs") && !op.over:
		body["properties"] = Object{"a": 1}
	case o.is("operation-named-otherwise"):
		body["name"] = "another"
	}
	if o.is("status-polled-with-202") && !op.over {
		o.write(w, r, 202, body)
		return
	}
	o.write(w, r, 200, body)
}

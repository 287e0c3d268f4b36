package chaos

import (
	"fmt"
	"slices"
	"sync"
	"time"
)

// verb is the method of an operation.
type verb uint8

const (
	put verb = iota
	remove
	patch
	get
	head
)

var verbs = [...]string{"PUT", "DELETE", "PATCH", "GET", "HEAD"}

func (v verb) String() string { return verbs[v] }

func (v verb) writes() bool { return v <= patch }

// verdict is what an answer says about the resource.
type verdict uint8

const (
	// nothing: the call changed nothing and proves nothing.
	nothing verdict = iota
	// open: it may have been carried out, may still be, or never is.
	open
	// overtaken: it was accepted and ended without success, as another write
	// took its place, before or after it took effect.
	overtaken
	// created: a PUT's 201.
	created
	// replaced: a PUT's 200.
	replaced
	// became: an accepted PUT whose operation was seen to succeed.
	became
	// elsewhere: a PUT refused because the resource lies in another region.
	elsewhere
	// removed: a DELETE's 200.
	removed
	// wasAbsent: a DELETE's 204.
	wasAbsent
	// vanished: an accepted DELETE whose operation was seen to succeed.
	vanished
	// seen: a read that showed the resource.
	seen
	// exists: a HEAD's 204.
	exists
	// absent: a read's 404.
	absent
	// threatened: from here on a delete of its group may remove it, each time that
	// it comes back.
	threatened
	// safe: one such delete ends here.
	safe
)

var verdicts = [...]string{
	"nothing", "open", "overtaken", "created", "replaced", "became", "elsewhere", "removed", "wasAbsent", "vanished", "seen", "exists", "absent",
	"threatened", "safe",
}

func (v verdict) String() string { return verdicts[v] }

// operation is one thing that a client did with a resource, from the call's
// first byte to the moment at which it knew the outcome. Times count from the
// beginning of the run.
type operation struct {
	Resource string // folded id
	Client   int
	Replica  int
	Verb     verb
	Form     string // how an asynchronous write was carried out; "" synchronously
	Batched  bool   // with others, in one call
	Region   string // of a PUT
	Value    int64  // of a PUT, unlike that of any other
	Verdict  verdict
	Seen     content // by a read
	Call     time.Duration
	Return   time.Duration
	Answer   string // status and code, or what came instead
}

// content is what can be seen of a resource. The zero value is its absence.
type content struct {
	region string
	value  int64
}

func (c content) there() bool { return c != content{} }

func (c content) String() string {
	if !c.there() {
		return "absent"
	}
	return fmt.Sprintf("%s/%d", c.region, c.value)
}

func (o operation) String() string {
	text := o.Verb.String()
	if o.Verb == put {
		text += " " + content{o.Region, o.Value}.String()
	}
	if o.Form != "" {
		text += " (" + o.Form + ")"
	}
	if o.Batched {
		text += " (in a batch)"
	}
	text += " -> " + o.Verdict.String()
	if o.Verdict == seen {
		text += " " + o.Seen.String()
	}
	return text + " [" + o.Answer + "]"
}

// history is what all clients did. It may be added to from any goroutine.
type history struct {
	mu         sync.Mutex
	operations []operation
}

func (h *history) add(o operation) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.operations = append(h.operations, o)
}

// written reports whether the PUT of a value had ended by a moment.
func (h *history) written(value int64, by time.Duration) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.ContainsFunc(h.operations, func(o operation) bool {
		return o.Verb == put && o.Value == value && o.Return < by
	})
}

// byResource returns each resource's operations in the order of their calls.
func (h *history) byResource() map[string][]operation {
	h.mu.Lock()
	defer h.mu.Unlock()
	parts := map[string][]operation{}
	for _, o := range h.operations {
		parts[o.Resource] = append(parts[o.Resource], o)
	}
	for _, part := range parts {
		slices.SortStableFunc(part, func(a, b operation) int { return int(a.Call - b.Call) })
	}
	return parts
}

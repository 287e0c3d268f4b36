package scale

import (
	"fmt"

	"testing"

	"portico/test/harness"
)

// feed has the change feed read, by the query of each of a hundred calls, and each answer
// has so many events.
func feed(name string, query func(e *estate, call int) string, events int) quantity {
	return quantity{name: name + ", ms", measure: func(t *testing.T, e *estate) (took []float64) {
		for i := range 100 {
			r := harness.Request{Path: "/admin/changes?" + query(e, i)}
			var a harness.Answer
			took = append(took, milliseconds(func() { a = e.Admin(t, r).Want(t, 200) }))
			if n := len(a.Values(t)); n != events {
				t.Fatalf("%s: %d events, want %d", r.Path, n, events)
			}
		}
		return took
	}}
}

// anywhere begins at one of a hundred places of the feed, the farther from the next one the
// more events there are.
func (e *estate) anywhere(call int) string {
	return fmt.Sprintf("limit=1000&after=%s%d", e.feed, call*(e.rows(eventsOfSubscription)-1000)/100)
}

package frontdoor

import (
	"net/http"
	"strconv"
	"time"

	"portico/events"
	"portico/gateway/exchange"
	"portico/gateway/frontdoor/page"
)

// eventsAtOnce bounds how many events are numbered on a request's time.
const eventsAtOnce = 1000

// numberSlack is by how much an event may be numbered later than one that is younger.
const numberSlack = time.Minute

// newestEvents lists events since a time, the newest first.
type newestEvents struct {
	// read returns events before a number, 0 for the newest.
	read  func(before int64, limit int) ([]events.Event, error)
	since time.Time
	keep  func(events.Event) bool
	show  func(events.Event) any
}

// answer answers with a page of the list.
func (l newestEvents) answer(w http.ResponseWriter, x *exchange.Exchange, lists page.Lists, p page.Page) error {
	over := false
	return page.Source[events.Event]{
		Read: func(after string, limit int) ([]events.Event, error) {
			if over {
				return nil, nil
			}
			before, _ := strconv.ParseInt(after, 10, 64)
			found, err := l.read(before, limit)
			for i, e := range found {
				// Numbers and times have the same order, but for the difference of clocks.
				if e.At.Add(numberSlack).Before(l.since) {
					found, over = found[:i], true
					break
				}
			}
			return found, err
		},
		Key:  func(e events.Event) string { return strconv.FormatInt(e.Number, 10) },
		Keep: func(e events.Event) bool { return !e.At.Before(l.since) && l.keep(e) },
		Show: l.show,
	}.Answer(w, x, lists, p)
}

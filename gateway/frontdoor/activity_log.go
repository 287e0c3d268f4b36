package frontdoor

import (
	"net/http"
	"strconv"
	"strings"
	"time"

	"portico/arm"
	"portico/events"
	"portico/gateway/exchange"
	"portico/gateway/frontdoor/page"
	"portico/gateway/frontdoor/route"
	"portico/inventory"
)

// activityLog is what has happened in a subscription: who changed what, and how it
// ended.
type activityLog struct {
	store *inventory.Store
	lists page.Lists
}

// Routes implements Resource.
func (g activityLog) Routes() []route.Route {
	return []route.Route{{
		Method: http.MethodGet, Path: "/subscriptions/{s}/providers/microsoft.insights/eventtypes/management/values",
		Action: "Microsoft.Insights/eventtypes/values/Read", Partly: true, Handle: g.list,
	}}
}

// eventsAtOnce bounds how many events are numbered on a request's time.
const eventsAtOnce = 1000

// list lists the events of a subscription, the newest first.
func (g activityLog) list(w http.ResponseWriter, r *http.Request, x *exchange.Exchange, req route.Request) error {
	p, err := g.lists.Read(x.Request)
	if err != nil {
		return err
	}
	text, _ := x.Request.Query.Get("$filter")
	wanted, fault := readEventFilter(text)
	if fault != nil {
		return fault
	}
	chosen, _ := x.Request.Query.Get("$select")
	shape, fault := readEventShape(chosen)
	if fault != nil {
		return fault
	}
	if _, err := g.store.NumberEvents(r.Context(), eventsAtOnce); err != nil {
		return err
	}
	// A subscription that was erased and made anew has nothing to do with the former.
	since := laterOf(wanted.from, req.Subscription.Created)
	over := false
	return page.Source[events.Event]{
		Read: func(after string, limit int) ([]events.Event, error) {
			if over {
				return nil, nil
			}
			before, _ := strconv.ParseInt(after, 10, 64)
			found, err := g.store.SubscriptionEvents(r.Context(), req.Subscription.ID, before, limit)
			for i, e := range found {
				// Numbers and times have the same order, but for the difference of clocks.
				if e.At.Add(numberSlack).Before(since) {
					found, over = found[:i], true
					break
				}
			}
			return found, err
		},
		Key: func(e events.Event) string { return strconv.FormatInt(e.Number, 10) },
		Keep: func(e events.Event) bool {
			return !e.At.Before(since) && wanted.match(e) && req.Readable.Shows(e.Resource)
		},
		Show: func(e events.Event) any { return shape.of(eventOf(e)) },
	}.Answer(w, x, g.lists, p)
}

// numberSlack is by how much an event may be numbered later than one that is younger.
const numberSlack = time.Minute

func laterOf(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// eventFilter is what $filter asks for: terms that all have to hold.
type eventFilter struct {
	from, until time.Time
	equal       map[string]string // folded field to folded text
}

// eventFields are the fields that can be compared with a text.
var eventFields = map[string]func(events.Event) string{
	"resourcegroupname": groupOf,
	"resourceuri":       func(e events.Event) string { return e.Resource },
	"resourceid":        func(e events.Event) string { return e.Resource },
	"resourceprovider":  func(e events.Event) string { return namespaceOf(e.Action) },
	"correlationid":     func(e events.Event) string { return e.Cause.Correlation },
	"caller":            func(e events.Event) string { return callerOf(e.Cause) },
	"status":            func(e events.Event) string { return string(e.Status) },
	"eventchannels":     func(events.Event) string { return "Operation" },
}

// readEventFilter reads terms that are joined by "and", such as eventTimestamp ge
// '2024-05-01T00:00:00Z' and resourceGroupName eq 'rg'.
func readEventFilter(text string) (f eventFilter, fault *arm.Error) {
	f.equal = map[string]string{}
	for rest := strings.TrimSpace(text); rest != ""; {
		field, operator, value, after, ok := cutTerm(rest)
		if !ok {
			return f, badEventFilter("it is a chain of terms such as resourceGroupName eq 'name', joined by and")
		}
		rest = after
		name := arm.Fold(field)
		_, comparable := eventFields[name]
		switch {
		case name == "eventtimestamp":
			if fault := f.bound(operator, value); fault != nil {
				return f, fault
			}
		case !comparable:
			return f, badEventFilter("it can ask for eventTimestamp, resourceGroupName, resourceUri, resourceId, resourceProvider, correlationId, caller, status and eventChannels")
		case !strings.EqualFold(operator, "eq"):
			return f, badEventFilter(field + " can only be compared by eq")
		default:
			f.equal[name] = arm.Fold(value)
		}
	}
	return f, nil
}

func (f *eventFilter) bound(operator, value string) *arm.Error {
	at, err := time.Parse(time.RFC3339, value)
	if err != nil {
		at, err = time.Parse("2006-01-02", value)
	}
	if err != nil {
		return badEventFilter("eventTimestamp is compared with a time such as '2024-05-01T00:00:00Z'")
	}
	switch {
	case strings.EqualFold(operator, "ge"):
		f.from = laterOf(f.from, at)
	case strings.EqualFold(operator, "le"):
		if f.until.IsZero() || at.Before(f.until) {
			f.until = at
		}
	default:
		return badEventFilter("eventTimestamp can be compared by ge and le")
	}
	return nil
}

func badEventFilter(why string) *arm.Error {
	return arm.NewError(arm.InvalidQueryParameter, "$filter", why).About("$filter")
}

// cutTerm cuts the first term off, and the "and" behind it. A quote within a text is
// doubled.
func cutTerm(text string) (field, operator, value, rest string, ok bool) {
	field, text, ok = strings.Cut(text, " ")
	if !ok {
		return "", "", "", "", false
	}
	operator, text, ok = strings.Cut(strings.TrimSpace(text), " ")
	text = strings.TrimSpace(text)
	if !ok || text == "" || text[0] != '\'' {
		return "", "", "", "", false
	}
	var b strings.Builder
	i := 1
	for ; i < len(text); i++ {
		if text[i] == '\'' {
			if i+1 == len(text) || text[i+1] != '\'' {
				break
			}
			i++
		}
		b.WriteByte(text[i])
	}
	if i == len(text) {
		return "", "", "", "", false
	}
	rest = strings.TrimSpace(text[i+1:])
	if rest == "" {
		return field, operator, b.String(), "", true
	}
	and, rest, found := strings.Cut(rest, " ")
	rest = strings.TrimSpace(rest)
	return field, operator, b.String(), rest, found && strings.EqualFold(and, "and") && rest != ""
}

func (f eventFilter) match(e events.Event) bool {
	if e.At.Before(f.from) || !f.until.IsZero() && e.At.After(f.until) {
		return false
	}
	for name, value := range f.equal {
		if arm.Fold(eventFields[name](e)) != value {
			return false
		}
	}
	return true
}

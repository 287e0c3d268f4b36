package frontdoor

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"portico/arm"
	"portico/arm/filter"
	"portico/events"
	"portico/internal/timing"
)

// eventFilter is what $filter asks for: terms that all have to hold.
type eventFilter struct {
	from, until time.Time
	equal       map[string]string // folded field to folded text
	levels      []string          // folded; none means all
	nothing     bool              // no event can be what is asked for
}

// resource is the key of the one resource that is asked for, "" for all.
func (f *eventFilter) resource() string { return cmp.Or(f.equal["resourceuri"], f.equal["resourceid"]) }

// eventFields are the fields that can be compared with a text, which is folded. A caller has
// several names.
var eventFields = map[string]func(e events.Event, text string) bool{
	"resourcegroupname": equals(groupOf),
	"resourceuri":       equals(resourceID),
	"resourceid":        equals(resourceID),
	"resourceprovider":  equals(func(e events.Event) string { return namespaceOf(e.Action) }),
	"correlationid":     equals(func(e events.Event) string { return e.Cause.Correlation }),
	"caller":            func(e events.Event, text string) bool { return e.Cause.IsBy(text) },
	"status":            equals(func(e events.Event) string { return string(e.Status) }),
}

func resourceID(e events.Event) string { return e.Resource }

func equals(field func(events.Event) string) func(events.Event, string) bool {
	return func(e events.Event, text string) bool { return arm.Fold(field(e)) == text }
}

// readEventFilter reads terms that are joined by "and", such as eventTimestamp ge
// '2024-05-01T00:00:00Z' and resourceGroupName eq 'rg'.
func readEventFilter(text string) (f eventFilter, fault *arm.Error) {
	terms, err := filter.Terms(text)
	if err != nil {
		return f, badEventFilter("it is a chain of terms such as resourceGroupName eq 'name', joined by and: " + err.Error())
	}
	f.equal = map[string]string{}
	for _, term := range terms {
		name, value := arm.Fold(term.Field), term.Value
		_, known := eventFields[name]
		switch {
		case name == "eventtimestamp":
			if fault := f.bound(term.Operator, value); fault != nil {
				return f, fault
			}
		case !known && name != eventChannels && name != eventLevels:
			return f, badEventFilter("it can ask for eventTimestamp, resourceGroupName, resourceUri, resourceId, resourceProvider, correlationId, caller, " +
				"status, levels and eventChannels")
		case !strings.EqualFold(term.Operator, "eq"):
			return f, badEventFilter(term.Field + " can only be compared by eq")
		case name == eventChannels:
			f.nothing = f.nothing || !slices.Contains(listed(value), "operation")
		case name == eventLevels:
			f.levels = listed(value)
			f.nothing = f.nothing || len(f.levels) == 0
		default:
			before, twice := f.equal[name]
			f.nothing = f.nothing || twice && before != arm.Fold(value)
			f.equal[name] = arm.Fold(value)
		}
	}
	return f, nil
}

// These two compare with a list of words, joined by commas.
const eventChannels, eventLevels = "eventchannels", "levels"

// listed are the words of a list, folded.
func listed(text string) (words []string) {
	for word := range strings.SplitSeq(text, ",") {
		if word = arm.Fold(strings.TrimSpace(word)); word != "" {
			words = append(words, word)
		}
	}
	return words
}

// eventTimes are the forms of times that are compared with. Without an offset they are
// UTC: the az CLI sends them so.
var eventTimes = [...]string{time.RFC3339, "2006-01-02T15:04:05", "2006-01-02T15:04", "2006-01-02"}

func readEventTime(text string) (at time.Time, err error) {
	for _, form := range eventTimes {
		if at, err = time.Parse(form, text); err == nil {
			return at, nil
		}
	}
	return at, err
}

func (f *eventFilter) bound(operator, value string) *arm.Error {
	at, err := readEventTime(value)
	if err != nil {
		return badEventFilter("eventTimestamp is compared with a time such as '2024-05-01T00:00:00Z'")
	}
	switch {
	case strings.EqualFold(operator, "ge"):
		f.from = timing.Later(f.from, at)
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

func (f eventFilter) match(e events.Event) bool {
	if f.nothing || len(f.levels) > 0 && !slices.Contains(f.levels, arm.Fold(levelOf(e))) {
		return false
	}
	if e.At.Before(f.from) || !f.until.IsZero() && e.At.After(f.until) {
		return false
	}
	for name, value := range f.equal {
		if !eventFields[name](e, value) {
			return false
		}
	}
	return true
}

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

// eventFilter is a parsed $filter: all its terms have to match.
type eventFilter struct {
	from, until time.Time
	equal       map[string]string // folded field to folded text
	levels      []string          // folded; empty means all
	matchesNone bool              // no event can match
}

// resource returns the key of the only resource that can match, or "".
func (f *eventFilter) resource() string { return cmp.Or(f.equal["resourceuri"], f.equal["resourceid"]) }

// eventFields are the fields that can be compared with a text, which is folded. A caller
// matches by any of its names.
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
			if fault := f.addTimeBound(term.Operator, value); fault != nil {
				return f, fault
			}
		case !known && name != eventChannels && name != eventLevels:
			return f, badEventFilter("it can ask for eventTimestamp, resourceGroupName, resourceUri, resourceId, resourceProvider, correlationId, caller, " +
				"status, levels and eventChannels")
		case !strings.EqualFold(term.Operator, "eq"):
			return f, badEventFilter(term.Field + " can only be compared by eq")
		case name == eventChannels:
			f.matchesNone = f.matchesNone || !slices.Contains(splitWords(value), "operation")
		case name == eventLevels:
			f.levels = splitWords(value)
			f.matchesNone = f.matchesNone || len(f.levels) == 0
		default:
			before, twice := f.equal[name]
			f.matchesNone = f.matchesNone || twice && before != arm.Fold(value)
			f.equal[name] = arm.Fold(value)
		}
	}
	return f, nil
}

// These two fields are compared with a list of words, joined by commas.
const eventChannels, eventLevels = "eventchannels", "levels"

func splitWords(text string) (words []string) {
	for word := range strings.SplitSeq(text, ",") {
		if word = arm.Fold(strings.TrimSpace(word)); word != "" {
			words = append(words, word)
		}
	}
	return words
}

// eventTimes are the accepted formats of times. A time without an offset is UTC: the az
// CLI sends such times.
var eventTimes = [...]string{time.RFC3339, "2006-01-02T15:04:05", "2006-01-02T15:04", "2006-01-02"}

func readEventTime(text string) (at time.Time, err error) {
	for _, form := range eventTimes {
		if at, err = time.Parse(form, text); err == nil {
			return at, nil
		}
	}
	return at, err
}

func (f *eventFilter) addTimeBound(operator, value string) *arm.Error {
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
	return arm.NewError(arm.InvalidQueryParameter, "$filter", why).WithTarget("$filter")
}

func (f eventFilter) match(e events.Event) bool {
	if f.matchesNone || len(f.levels) > 0 && !slices.Contains(f.levels, arm.Fold(levelOf(e))) {
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

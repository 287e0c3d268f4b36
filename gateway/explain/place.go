package explain

import (
	"net/http"
	"slices"
	"strings"

	"portico/arm"
	"portico/fanout"
	"portico/gateway/admin/api"
	"portico/regions"
	"portico/routing"
)

// place returns where the request goes, or nil if it goes nowhere.
func (w *Walked) place() *api.ExplainedPlace {
	q, d := w.Exchange.Request, w.Exchange.Trail.Decision
	if !w.Read || d == nil || q.Class == routing.Own || d.Mode == routing.Absent || d.Mode == routing.Present {
		return nil
	}
	p := &api.ExplainedPlace{
		Regions: regionsOf(w.Calls, d), Cached: d.Memory.Location, Remembered: d.Memory.Scopes,
		Verify: d.NeedsVerify || d.Row != nil && d.Row.NeedsVerify(),
	}
	p.Source, p.Reason = reason(q, d)
	return p
}

// regionsOf returns the regions of a decision. If the decision has none, because a skip token
// or the caller's roles determine them, it returns the regions of the recorded calls.
func regionsOf(calls *Calls, d *routing.Decision) []string {
	found := []string{}
	switch {
	case d.Mode == routing.EmptyList:
	case d.Mode != routing.Merge && d.Mode != routing.AllRegions:
		return []string{d.Region}
	case d.Endpoints == nil:
		for _, c := range calls.recorded {
			if !slices.Contains(found, c.Endpoint.Region) {
				found = append(found, c.Endpoint.Region)
			}
		}
	default:
		for _, e := range d.Endpoints {
			found = append(found, e.Region)
		}
	}
	return found
}

// reason returns the fact that decided where a request goes, and a sentence about it.
func reason(q *routing.Request, d *routing.Decision) (source, why string) {
	switch {
	case d.Operation != nil:
		return "operation", "the record of the polling URL says that the operation runs there"
	case d.Mode == routing.EmptyList:
		return "coverage", "the index has no such resource there, and knows that no region has one"
	case d.Mode == routing.Merge && fanout.HasSkipToken(q.Query):
		return "path", "the skip token names the regions"
	case d.Mode == routing.Merge:
		return "coverage", "these are the regions that have such rows in the index, or that it has not listed"
	case d.Mode == routing.AllRegions:
		return "map", "the type is served in these regions, and each knows only its own names"
	case q.ChecksName() && d.Region != arm.GlobalLocation:
		return "map", "the type is served in only one region"
	case q.Location != "":
		return "path", "the path names the location"
	case q.Class == routing.AtProvider, q.Class == routing.Poll && q.Type == nil && d.Region == arm.GlobalLocation:
		return "map", "it concerns the provider as a whole, which has a global endpoint"
	case d.Memory.Location:
		return "cache", "the index row of " + subject(q, d) + ", in memory, says so"
	case d.Row != nil:
		return "row", "the index row says so"
	}
	return reasonWithoutRow(q, d)
}

// subject returns the resource whose cached location was used, in quotes.
func subject(q *routing.Request, d *routing.Decision) string {
	if d.Memory.Key != "" {
		return "'" + d.Memory.Key + "'"
	}
	return "'" + q.Path.String() + "'"
}

// reasonWithoutRow is like reason, for requests that did not read a row of their own resource.
func reasonWithoutRow(q *routing.Request, d *routing.Decision) (source, why string) {
	t := q.Type
	switch {
	case t == nil:
		return "parent", "the resource that contains it is there"
	case t.Routing == regions.Global:
		return "map", "the type is served by a global endpoint"
	case t.Kind == regions.Extension:
		return "parent", "the resource that it extends is there, or has no region"
	case q.Class == routing.Instance && t.Kind == regions.Tracked && q.Method == http.MethodPut && d.Parent != "":
		return "parent", "the index row of its parent says so"
	case q.Class == routing.Instance && t.Kind == regions.Tracked && q.Method == http.MethodPut:
		return "content", "the resource is new, and its content names the location"
	case q.Class == routing.Instance && t.Kind == regions.Tracked:
		return "row", "the index row says so"
	case q.Class == routing.Below || t.Parent != nil:
		return "parent", "its parent resource is there"
	}
	return "map", "the type is served in only one region"
}

// lockNames lists locks for a sentence.
func lockNames(locks []api.Lock) string {
	names := make([]string, len(locks))
	for i, l := range locks {
		names[i] = "'" + l.Name + "' (" + l.Level + ") on " + l.Scope
	}
	return strings.Join(names, ", ")
}

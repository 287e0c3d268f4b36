package admin

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/gorilla/mux"

	"portico/arm"
	"portico/config"
	"portico/gateway/admin/api"
	"portico/gateway/observe"
	"portico/inventory"
	"portico/inventory/observed"
	"portico/jobs"
	"portico/routing"
)

// showTraffic shows the request statistics of this replica in the intervals after ?after=, a
// time, or those of all replicas in the last ?range=, with those of ?region=.
func (l *listener) showTraffic(_ http.ResponseWriter, r *http.Request) (int, any, error) {
	query := r.URL.Query()
	var after time.Time
	if text := query.Get("after"); text != "" {
		var err error
		if after, err = time.Parse(time.RFC3339Nano, text); err != nil {
			return 0, nil, arm.NewError(arm.InvalidQueryParameter, "after", "it must be a time such as 2024-01-01T12:00:00Z").WithTarget("after")
		}
	}
	samples := l.Traffic.Since(after)
	if query.Has("range") {
		span, err := time.ParseDuration(query.Get("range"))
		if err != nil || span < time.Hour || span > observed.TrafficKept || span%time.Hour != 0 {
			return 0, nil, arm.NewError(arm.InvalidQueryParameter, "range", "it must be a number of hours from 1h to 24h").WithTarget("range")
		}
		if samples, err = l.Traffic.History(r.Context(), query.Get("region"), span); err != nil {
			return 0, nil, err
		}
	}
	answer := api.Traffic{Seconds: observe.TrafficInterval.Seconds(), Intervals: make([]api.TrafficInterval, 0, len(samples))}
	for _, s := range samples {
		interval := api.TrafficInterval{Time: s.Time, Seconds: s.Seconds, InFlight: s.InFlight, Flow: api.Flow(s.All), Regions: []api.RegionFlow{}}
		for _, region := range s.Regions {
			interval.Regions = append(interval.Regions, api.RegionFlow{Region: region.Region, Flow: api.Flow(region.Flow)})
		}
		answer.Intervals = append(answer.Intervals, interval)
	}
	return http.StatusOK, answer, nil
}

// listErrors lists at most ?limit= error groups of all replicas or, with ?each=true, the last
// errors of this replica one by one.
func (l *listener) listErrors(_ http.ResponseWriter, r *http.Request) (int, any, error) {
	query := r.URL.Query()
	limit, err := pageSize(query)
	if err != nil {
		return 0, nil, err
	}
	var groups []observe.ReplicaGroup
	ownOnly := false
	switch query.Get("each") {
	case "":
		groups, ownOnly = l.Recent.Groups(r.Context())
	case "true":
		for _, a := range l.Recent.Answers() {
			groups = append(groups, observe.ReplicaGroup{ErrorGroup: observe.ErrorGroup{ErrorAnswer: a, Count: 1, First: a.Time}, Replica: l.Recent.Replica()})
		}
	default:
		return 0, nil, arm.NewError(arm.InvalidQueryParameter, "each", "it must be true or absent").WithTarget("each")
	}
	if blame := query.Get("blame"); blame != "" {
		groups = slices.DeleteFunc(groups, func(g observe.ReplicaGroup) bool { return !arm.EqualFold(g.Blame, blame) })
	}
	groups = groups[:min(limit, len(groups))]
	callers := map[string][]string{}
	for _, g := range groups {
		callers[g.Caller.TenantID] = append(callers[g.Caller.TenantID], g.Caller.ID)
	}
	names := map[string]map[string]string{}
	for tenant, ids := range callers {
		names[tenant] = l.namesOf(r.Context(), tenant, ids)
	}
	answer := api.ErrorAnswers{Page: listOf(groups, func(g observe.ReplicaGroup) api.ErrorAnswer {
		return errorAnswerOf(g, names[g.Caller.TenantID][arm.Fold(g.Caller.ID)])
	})}
	if ownOnly {
		answer.Note = fmt.Sprintf("Only the errors of the replica %s are shown, because the store does not answer.", l.Recent.Replica())
	}
	return http.StatusOK, answer, nil
}

// namesTime bounds the lookup of names; an answer without names is still useful.
const namesTime = 2 * time.Second

// namesOf returns the known names of a tenant's callers, by their folded ids, and none if the
// store does not answer.
func (l *listener) namesOf(ctx context.Context, tenant string, ids []string) map[string]string {
	ctx, cancel := context.WithTimeout(ctx, namesTime)
	defer cancel()
	slices.Sort(ids)
	names, err := l.Store.Names.Of(ctx, tenant, slices.Compact(ids))
	if err != nil {
		return nil
	}
	return names
}

// nameEach sets the known name of the principal of each element of a list.
func nameEach[T any](ctx context.Context, l *listener, tenant string, list []T, principal func(*T) (id string, name *string)) {
	var ids []string
	for i := range list {
		id, _ := principal(&list[i])
		ids = append(ids, id)
	}
	known := l.namesOf(ctx, tenant, ids)
	for i := range list {
		id, name := principal(&list[i])
		*name = known[arm.Fold(id)]
	}
}

func errorAnswerOf(g observe.ReplicaGroup, name string) api.ErrorAnswer {
	return api.ErrorAnswer{
		Time: g.Time, Class: g.Class, Method: g.Method, Path: g.Path, Status: g.Status, Code: g.Code,
		Cause: cmp.Or(g.Cause, "none"), Blame: g.Blame, Message: g.Message, Region: g.Region, CorrelationID: g.Correlation,
		Subscription: g.Subscription, TenantID: g.Caller.TenantID, Caller: g.Caller.ID, Name: name, Replica: g.Replica, Count: g.Count, First: g.First,
	}
}

func (l *listener) showConfiguration(http.ResponseWriter, *http.Request) (int, any, error) {
	lines := l.Config.Lines()
	answer := api.ConfigurationInUse{Settings: make([]api.Setting, 0, len(lines))}
	for _, line := range lines {
		answer.Settings = append(answer.Settings, api.Setting{Path: line.Path, Value: line.Value, Default: line.Default, AtDefault: line.AtDefault})
	}
	return http.StatusOK, answer, nil
}

// listConfigurations lists the configurations that were read since the start.
func (l *listener) listConfigurations(http.ResponseWriter, *http.Request) (int, any, error) {
	return http.StatusOK, listOf(l.Generations.Entries(), configurationOf), nil
}

func configurationOf(e config.HistoryEntry) api.Configuration {
	c := api.Configuration{
		Generation: e.Number, Time: e.Time, Outcome: api.ConfigurationTaken, Why: e.Why, By: e.By, NeedsRestart: e.NeedsRestart, Faults: e.Faults,
		Further: e.Further,
	}
	if e.Number == 0 {
		c.Outcome = api.ConfigurationRefused
	}
	for _, d := range e.Differences {
		c.Changes = append(c.Changes, api.SettingChange(d))
	}
	return c
}

// listStrays lists the strays of all subscriptions, at most ?limit= after ?after=, a position
// in the list.
func (l *listener) listStrays(_ http.ResponseWriter, r *http.Request) (int, any, error) {
	query := r.URL.Query()
	limit, err := pageSize(query)
	if err != nil {
		return 0, nil, err
	}
	after, err := parseStrayName(query.Get("after"))
	if err != nil {
		return 0, nil, err
	}
	strays, err := l.Store.Strays.All(r.Context(), after, limit+1) // is there more?
	return http.StatusOK, pageOf("/admin/strays", query, strays, limit, strayOf, strayName), err
}

func strayOf(s inventory.Stray) api.Stray {
	return api.Stray{ID: s.ID, Subscription: s.Subscription, Region: s.Region, Type: s.Type, Seen: s.Seen}
}

// mostMembers bounds the members shown of a deletion.
const mostMembers = 300

// listDeletionMembers lists the resources that a group deletion still has to delete.
func (l *listener) listDeletionMembers(_ http.ResponseWriter, r *http.Request) (int, any, error) {
	j, err := l.namedJob(r)
	if err != nil {
		return 0, nil, err
	}
	answer := api.DeletionMembers{Group: routing.GroupID(j.Subscription, j.Subject), Members: []api.DeletionMember{}}
	kind := l.Jobs.Describe(j.Kind)
	if kind.Remaining == nil {
		return 0, nil, arm.NewError(arm.Conflict).WithMessage("The job '%s' is not a group deletion.", mux.Vars(r)["id"])
	}
	members, err := kind.Remaining(r.Context(), j, mostMembers+1)
	if err != nil {
		return 0, nil, err
	}
	if len(members) > mostMembers {
		members, answer.Further = members[:mostMembers], true
	}
	ids := map[string]string{}
	for _, m := range members {
		ids[m.Key] = m.ID
	}
	for _, m := range members {
		answer.Members = append(answer.Members, memberOf(m, ids))
	}
	return http.StatusOK, answer, nil
}

var memberStates = [...]string{
	jobs.RemainingWaiting: api.MemberWaiting, jobs.RemainingInFlight: api.MemberInFlight,
	jobs.RemainingAccepted: api.MemberAccepted, jobs.RemainingRefused: api.MemberRefused,
}

// memberOf returns a member for the answer. ids maps the keys of members to their IDs.
func memberOf(m jobs.Remaining, ids map[string]string) api.DeletionMember {
	shown := api.DeletionMember{
		ID: m.ID, Type: m.Type, Region: m.Region, Stray: m.Stray, Parent: ids[m.Parent], Tries: m.Tries, Why: m.Why, State: memberStates[m.State],
		OwnWrite: m.OwnWrite,
	}
	if m.Tries > 0 {
		shown.Since = timeOf(m.Failing)
	}
	shown.Due = timeOf(m.Due)
	for _, key := range m.WaitsFor {
		shown.WaitsFor = append(shown.WaitsFor, cmp.Or(ids[key], key))
	}
	return shown
}

func strayName(s inventory.Stray) string { return s.Subscription + " " + s.Region + " " + s.Key }

func parseStrayName(name string) (s inventory.Stray, err error) {
	if name == "" {
		return s, nil
	}
	parts := strings.SplitN(name, " ", 3)
	if len(parts) < 3 {
		return s, arm.NewError(arm.InvalidQueryParameter, "after", "it must be the token of a nextLink").WithTarget("after")
	}
	s.Subscription, s.Region, s.Key = parts[0], parts[1], parts[2]
	return s, nil
}

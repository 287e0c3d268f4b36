package contract

import (
	"net/http"
	"strings"

	"github.com/google/uuid"
)

// subscriptionCases check notifications about subscriptions.
func subscriptionCases() []Case {
	notice := func(s *Scene, subscription, state string) *Answer {
		body := Object{
			"state": state, "registrationDate": "Tue, 15 Nov 1994 08:12:31 GMT",
			"properties": Object{"tenantId": s.Adapter.identities[Owner].TenantID, "quotaId": "PayAsYouGo_2014-09-01"},
		}
		return s.put("/subscriptions/"+subscription, body, target("/subscriptions/"+subscription+"?api-version=2.0"), inPlaceOf(s.Type, s))
	}
	in := func(s *Scene) (subscription, id string) {
		subscription = uuid.NewString()
		s.prepare(func() { notice(s, subscription, "Registered").done() })
		return subscription, strings.Replace(s.id, s.Adapter.Subscription, subscription, 1)
	}
	// leave deletes the subscription, so that the provider deletes its resources.
	leave := func(s *Scene, subscription string) { notice(s, subscription, "Deleted") }
	// Each state permits these statuses of GET, PUT and DELETE of an existing
	// resource; 0 is any refusal.
	rows := []struct {
		state            string
		get, put, remove int
	}{
		{"Registered", 200, 200, 200},
		{"Warned", 200, 0, 200},
		{"Suspended", 200, 0, 200},
		{"Unregistered", 200, 0, 0},
	}
	cases := []Case{
		{
			ID: "subscription/notices-in-any-order", Profile: Subscriptions, Section: lifecycle, On: isFirst, Side: StraightOnly,
			Rule: "PUT /subscriptions/{id} is accepted in any order of states and any number of times",
			Run: func(s *Scene) {
				subscription, _ := in(s)
				for _, state := range []string{"Registered", "Suspended", "Warned", "Registered", "Unregistered", "Deleted", "Deleted", "Registered"} {
					notice(s, subscription, state).status(200)
				}
			},
		},
		{
			ID: "subscription/list-of-an-unregistered-one", Profile: Subscriptions, Section: getResource, On: isFirst, Side: StraightOnly,
			Rule: "the list of a subscription that is not registered is empty or 404, never 5xx or 403",
			Run: func(s *Scene) {
				subscription, _ := in(s)
				s.prepare(func() { notice(s, subscription, "Unregistered").done() })
				s.emptyOrAbsent(subscription)
			},
		},
		{
			ID: "subscription/deleted", Profile: Subscriptions, Section: lifecycle, On: isFirst, Side: StraightOnly,
			Rule: "Deleted: the provider deletes the subscription's resources without DELETE calls",
			Run: func(s *Scene) {
				subscription, id := in(s)
				s.create(id, s.body(s.Type))
				s.prepare(func() { notice(s, subscription, "Deleted").done() })
				s.put(id, s.body(s.Type)).refused()
				s.prepare(func() { notice(s, subscription, "Registered").done() })
				s.get(id).gone()
				leave(s, subscription)
			},
		},
	}
	for _, row := range rows {
		cases = append(cases, Case{
			ID: "subscription/while-" + strings.ToLower(row.state), Profile: Subscriptions, Section: lifecycle, On: isFirst, Side: StraightOnly,
			Rule: "Registered permits everything, Warned and Suspended permit GET and DELETE, Unregistered only GET",
			Run: func(s *Scene) {
				subscription, id := in(s)
				s.create(id, s.body(s.Type))
				s.overwritable(id)
				s.prepare(func() { notice(s, subscription, row.state).done() })
				defer leave(s, subscription)
				try := func(a *Answer, status int) {
					if status == 0 {
						a.check(a.Status >= 400 && a.Status < 500, a.call.String()+" is refused while the subscription is "+row.state, "%s", a)
						return
					}
					a.check(a.Status == status || a.Status == http.StatusAccepted, a.call.String()+" is permitted while the subscription is "+row.state,
						"%s", a)
				}
				try(s.get(id), row.get)
				try(s.put(id, s.body(s.Type)), row.put)
				try(s.remove(id), row.remove)
			},
		})
	}
	return cases
}

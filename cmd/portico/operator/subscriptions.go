package operator

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"iter"
	"maps"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"portico/cmd/portico/terminal"
	"portico/gateway/admin/api"
)

func subscriptionsCommand(p Program) *cobra.Command {
	l := listing[api.Subscription, api.Subscription]{
		path: "/admin/subscriptions", none: "There is no subscription.", rows: same[api.Subscription],
		columns: []terminal.Column[api.Subscription]{
			{Title: "ID", Cell: func(s api.Subscription) string { return s.ID }},
			{Title: "STATE", Cell: subscriptionState, Style: func(s api.Subscription) terminal.Style { return styleOf(s.State) }},
			{Title: "NAME", Cell: func(s api.Subscription) string { return s.DisplayName }, Least: 4},
			{Title: "TENANT", Cell: func(s api.Subscription) string { return s.TenantID }, Drop: 1},
			{Title: "COVERED", Cell: func(s api.Subscription) string { return strconv.FormatBool(s.Covered == nil || *s.Covered) }, Wide: true},
			{Title: "OFFER", Cell: func(s api.Subscription) string { return s.OfferID }, Wide: true},
			{Title: "FEATURES", Cell: func(s api.Subscription) string { return strings.Join(s.Features, ",") }, Wide: true},
		},
	}
	return l.command(p, "subscriptions", "List the subscriptions of all tenants", "")
}

func subscriptionState(s api.Subscription) string {
	if s.Erased {
		return s.State + ", erased"
	}
	return s.State
}

// ofSubscription returns the parameter for a subscription.
func ofSubscription() param {
	return param{name: "subscription", flag: "subscription", usage: "only the subscription with this `ID`", complete: completeSubscriptions}
}

// overSubscriptions reads a list of each subscription, one after the other, as the
// elements are used up. It skips a subscription that is gone meanwhile, or that does not
// know an object of the query.
func overSubscriptions(ctx context.Context, c *api.Client, path string, query url.Values) iter.Seq2[json.RawMessage, error] {
	return func(yield func(json.RawMessage, error) bool) {
		var refused error
		answered := false
		for text, err := range c.Pages(ctx, "/admin/subscriptions", url.Values{"limit": {strconv.Itoa(largestPage)}}) {
			var s api.Subscription
			if err == nil {
				err = json.Unmarshal(text, &s)
			}
			if err != nil {
				yield(nil, err)
				return
			}
			of := maps.Clone(query)
			of.Set("subscription", s.ID)
			var passed error
			for element, err := range c.Pages(ctx, path, of) {
				if refusesQuery(err) {
					passed = err
					break
				}
				if !yield(element, err) || err != nil {
					return
				}
			}
			refused, answered = cmp.Or(refused, passed), answered || passed == nil
		}
		if refused != nil && !answered {
			yield(nil, refused)
		}
	}
}

// refusesQuery reports whether a subscription refuses a query that another may accept.
func refusesQuery(err error) bool {
	refusal, is := errors.AsType[*api.Refusal](err)
	return is && (refusal.Status == http.StatusNotFound || refusal.Status == http.StatusBadRequest)
}

package operator

import (
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
			{Title: "NAME", Cell: func(s api.Subscription) string { return s.DisplayName }, Least: 10},
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

// ofSubscription is the parameter that names a subscription.
func ofSubscription(usage string, required bool) param {
	return param{name: "subscription", flag: "subscription", usage: usage, required: required, complete: completeSubscriptions}
}

package chaos

import (
	"context"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"time"

	"portico/test/harness"
)

// oddity is a freedom of a provider that makes it hard to know which resources
// exist. Package contoso/fault explains each fault.
type oddity struct {
	name   string // for the flag and the report
	method string // "" is any
	fault  string
	// upTo, when set, is the most of the argument that the fault takes.
	upTo time.Duration
	// count is how many calls it is for, at most: few of them meet with what makes
	// it matter.
	count int
	on    bool // the gateways live with it
}

// oddities are all of them. One that is off breaks the gateways: -chaos.odd shows how.
var oddities = []oddity{
	{name: "overlook", method: http.MethodDelete, fault: "overlook", count: 8, on: true},
	{name: "overlook-404", method: http.MethodDelete, fault: "overlook=404", count: 8, on: true},
	{name: "polls-late", fault: "polls-late", upTo: 1500 * time.Millisecond, count: 6, on: true},
	{name: "polls-strict", fault: "polls-strict", count: 6, on: true},
	{name: "hidden-from-clients", method: http.MethodGet, fault: "hidden-from-clients", count: 3, on: true},
	{name: "not-found-subscription", method: http.MethodGet, fault: "not-found=SubscriptionNotFound", count: 2, on: true},
	{name: "not-found-page", method: http.MethodGet, fault: "not-found=page", count: 2, on: true},
	{name: "delete-not-found-subscription", method: http.MethodDelete, fault: "not-found=SubscriptionNotFound", count: 2, on: true},
	{name: "delete-not-found-page", method: http.MethodDelete, fault: "not-found=page", count: 2, on: true},
	{name: "unshown", method: http.MethodDelete, fault: "unshown", count: 6, on: true},
}

// chosenOddities are those that are on, and those that the flag names.
func chosenOddities() (chosen []oddity) {
	named := strings.Split(*odd, ",")
	for _, o := range oddities {
		if o.on || *odd == "all" || slices.Contains(named, o.name) {
			chosen = append(chosen, o)
		}
	}
	return chosen
}

// beOdd has a region take a freedom at the next calls.
func (r *run) beOdd(ctx context.Context, o oddity, random *rand.Rand) {
	region := r.site.regions[random.IntN(len(harness.RegionNames()))]
	text := o.fault
	if o.upTo > 0 {
		text += "=" + time.Duration(random.Int64N(int64(o.upTo))).Round(time.Millisecond).String()
	}
	if addFault(ctx, region, o.method, "/providers/", text, 1+random.IntN(o.count)) {
		r.count.fault("oddity: " + o.name)
	}
}

// lies tells the 404 by which a provider says nothing of a resource: it speaks of
// something else, or to this caller alone.
func lies(a harness.Answer) bool {
	if a.Status != http.StatusNotFound || byGateway(a) {
		return false
	}
	switch a.ErrorCode() {
	case "", "SubscriptionNotFound":
		return true
	case "ResourceNotFound":
		return strings.Contains(string(a.Body), "by this caller")
	}
	return false
}

// perhapsOtherVersion has one poll in four ask by another api-version than its URL
// does, where providers mind that.
func (c *client) perhapsOtherVersion(path string) string {
	minded := slices.ContainsFunc(chosenOddities(), func(o oddity) bool { return o.fault == "polls-strict" })
	if !minded || c.random.IntN(4) > 0 {
		return path
	}
	return strings.Replace(path, "api-version="+harness.Version, "api-version="+harness.VersionPreview, 1)
}

package contract

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
)

// rightWays are providers that are right, each in its own way, and what they claim.
func rightWays() map[string]struct {
	provider *outside
	claims   []Profile
} {
	type row = struct {
		provider *outside
		claims   []Profile
	}
	return map[string]row{
		"minimal and proxy-only": {&outside{strict: true, noHead: true}, []Profile{Core}},
		"minimal and tracked":    {&outside{tracked: true, noHead: true}, []Profile{Core, TrackedResources, Tags}},
		"asynchronous, with a status": {
			&outside{tracked: true, put: "201", later: "202", status: true, retry: "10", state: true, etags: true},
			[]Profile{Core, TrackedResources, Tags, ETags, Asynchronous},
		},
		"asynchronous, by the state alone": {
			&outside{tracked: true, put: "201", later: "202", state: true, page: 3},
			[]Profile{Core, TrackedResources, Tags, Asynchronous},
		},
		"accepting": {
			&outside{tracked: true, put: "202", later: "202", retry: "15"},
			[]Profile{Core, TrackedResources, Tags, Asynchronous},
		},
		"strict and odd": {
			&outside{tracked: true, strict: true, odd: true, state: true, etags: true, page: 2, parts: true},
			[]Profile{Core, TrackedResources, Tags, ETags, Nested, Asynchronous},
		},
		"of defaults and secrets": {
			&outside{tracked: true, defaults: true, secret: true, page: 100, parts: true},
			[]Profile{Core, TrackedResources, Tags, Nested},
		},
		"of proxy-only resources, asynchronous": {
			&outside{put: "201", later: "202", status: true, state: true, parts: true},
			[]Profile{Core, Nested, Asynchronous},
		},
	}
}

// A provider that keeps the contract keeps every case that it claims, whatever it makes of
// what the contract leaves free.
func TestRightProvidersPass(t *testing.T) {
	t.Parallel()
	for name, row := range rightWays() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			count := map[Outcome]int{}
			why := map[string]int{}
			for _, r := range row.provider.certify(t, row.claims) {
				count[r.Outcome]++
				switch r.Outcome {
				case Broken, Unreached:
					t.Errorf("%s is %s on %s: %s%s", r.Case, r.Outcome, r.Type, r.Why, tell(r.Faults))
				case LeftOut:
					if r.Why == "" {
						t.Errorf("%s is left out without a reason", r.Case)
					}
					if why[r.Why]++; !strings.HasPrefix(r.Why, "the profile") {
						t.Logf("%s is left out: %s", r.Case, r.Why)
					}
				}
			}
			t.Logf("%v", count)
		})
	}
}

func tell(faults []Fault) string {
	var text strings.Builder
	for _, f := range faults {
		fmt.Fprintf(&text, "\n  expected: %s\n  got:      %s", f.Expected, f.Got)
	}
	return text.String()
}

// wrongWays are single breaks of providers that are right otherwise, and the cases that
// hold the rule.
var wrongWays = []struct {
	provider, breaks string
	cases            []string
}{
	{"minimal and proxy-only", "creates-with-200", []string{}},
	{"minimal and proxy-only", "put-answers-id-alone", []string{}},
	{"minimal and proxy-only", "any-api-version", []string{}},
	{"minimal and proxy-only", "any-name", []string{}},
	{"minimal and proxy-only", "names-with-case", []string{}},
	{"minimal and proxy-only", "names-normalized", []string{}},
	{"minimal and proxy-only", "type-without-namespace", []string{}},
	{"minimal and proxy-only", "request-id-repeated", []string{}},
	{"minimal and proxy-only", "no-request-id", []string{}},
	{"minimal and proxy-only", "request-id-is-the-routing-id", []string{}},
	{"minimal and proxy-only", "errors-are-bare", []string{}},
	{"minimal and proxy-only", "arrays-accepted", []string{}},
	{"minimal and proxy-only", "put-refused-where-it-exists", []string{}},
	{"minimal and proxy-only", "put-merges", []string{}},
	{"minimal and proxy-only", "absent-deleted-with-404", []string{}},
	{"minimal and proxy-only", "deletes-nothing", []string{}},
	{"minimal and proxy-only", "delete-with-body", []string{}},
	{"minimal and proxy-only", "foreign-list-403", []string{}},
	{"minimal and proxy-only", "groups-by-prefix", []string{}},
	{"minimal and proxy-only", "empty-is-null", []string{}},
	{"minimal and proxy-only", "next-link-empty", []string{}},
	{"minimal and proxy-only", "items-without-properties", []string{}},
	{"minimal and proxy-only", "patch-creates", []string{}},
	{"minimal and proxy-only", "patch-replaces-properties", []string{}},
	{"minimal and proxy-only", "patch-answers-as-before", []string{}},
	{"minimal and proxy-only", "secret-lost", []string{}},
	{"minimal and proxy-only", "absent-204", []string{}},
	{"minimal and tracked", "id-encoded", []string{}},
	{"minimal and tracked", "id-with-host", []string{}},
	{"minimal and tracked", "name-from-the-body", []string{}},
	{"minimal and tracked", "location-optional", []string{}},
	{"minimal and tracked", "location-changes", []string{}},
	{"minimal and tracked", "long-tags", []string{}},
	{"minimal and tracked", "any-tag-name", []string{}},
	{"minimal and tracked", "put-keeps-tags", []string{}},
	{"minimal and tracked", "patch-merges-tags", []string{}},
	{"minimal and tracked", "patch-loses-tags", []string{}},
	{"minimal and tracked", "properties-first-refused", []string{}},
	{"strict and odd", "page-loses-one", []string{}},
	{"strict and odd", "next-link-without-version", []string{}},
	{"strict and odd", "next-link-of-the-request", []string{}},
	{"strict and odd", "top-ignored", []string{}},
	{"strict and odd", "etag-strong", []string{}},
	{"strict and odd", "etag-constant", []string{}},
	{"strict and odd", "etag-not-in-header", []string{}},
	{"strict and odd", "preconditions-ignored", []string{}},
	{"strict and odd", "delete-without-precondition", []string{}},
	{"strict and odd", "if-none-match-ignored", []string{}},
	{"strict and odd", "state-not-compared", []string{}},
	{"strict and odd", "parts-survive", []string{}},
	{"strict and odd", "orphans", []string{}},
	{"of defaults and secrets", "proxy-with-tags", []string{}},
	{"asynchronous, with a status", "terminal-at-once", []string{}},
	{"asynchronous, with a status", "ends-in-failed", []string{}},
	{"asynchronous, with a status", "state-stays", []string{}},
	{"asynchronous, with a status", "patch-ends-with-nothing", []string{}},
	{"asynchronous, with a status", "deletes-nothing", []string{}},
	{"asynchronous, with a status", "urls-relative", []string{}},
	{"asynchronous, with a status", "urls-of-the-request", []string{}},
	{"asynchronous, with a status", "urls-elsewhere", []string{}},
	{"asynchronous, with a status", "no-location", []string{}},
	{"asynchronous, with a status", "accepted-with-body", []string{}},
	{"asynchronous, with a status", "retry-after-a-date", []string{}},
	{"asynchronous, with a status", "retry-after-too-soon", []string{}},
	{"asynchronous, with a status", "operation-id-is-the-request-id", []string{}},
	{"asynchronous, with a status", "seen-in-other-subscriptions", []string{}},
	{"asynchronous, with a status", "seen-by-tenants", []string{}},
	{"asynchronous, with a status", "seen-by-others", []string{}},
	{"asynchronous, with a status", "status-polled-with-202", []string{}},
	{"asynchronous, with a status", "no-status", []string{}},
	{"asynchronous, with a status", "times-not-iso", []string{}},
	{"asynchronous, with a status", "percent-beyond", []string{}},
	{"asynchronous, with a status", "properties-while-it-runs", []string{}},
	{"asynchronous, with a status", "operation-named-otherwise", []string{}},
	{"asynchronous, with a status", "status-stays-odd", []string{}},
	{"accepting", "visible-too-soon", []string{}},
	{"accepting", "accepted-with-body", []string{}},
	{"accepting", "urls-relative", []string{}},
}

// Of a provider that breaks one rule, the cases of that rule are broken, and no others.
func TestSingleBreaksAreNamed(t *testing.T) {
	t.Parallel()
	for _, row := range wrongWays {
		t.Run(row.provider+": "+row.breaks, func(t *testing.T) {
			t.Parallel()
			way := rightWays()[row.provider]
			way.provider.broken = row.breaks
			broken := map[string][]Fault{}
			for _, r := range way.provider.certify(t, way.claims) {
				switch r.Outcome {
				case Broken:
					broken[r.Case] = r.Faults
				case Unreached:
					t.Errorf("%s is unreached: %s%s", r.Case, r.Why, tell(r.Faults))
				}
			}
			for _, id := range row.cases {
				if broken[id] == nil {
					t.Errorf("%s does not notice it", id)
				}
			}
			for _, id := range slices.Sorted(maps.Keys(broken)) {
				if !slices.Contains(row.cases, id) {
					t.Errorf("%s is broken, whose rule is another:%s", id, tell(broken[id]))
				}
			}
		})
	}
}

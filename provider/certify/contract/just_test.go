package contract

import (
	"fmt"
	"maps"
	"regexp"
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
		"of restricted names, throttling": {
			&outside{tracked: true, restricts: true, throttles: true, noTop: true, put: "201", later: "202", retry: "10", state: true, etags: true, parts: true},
			[]Profile{Core, TrackedResources, Tags, ETags, Nested, Asynchronous},
		},
		"literal about links": {
			&outside{tracked: true, page: 2, appends: true, parts: true},
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
			ordinary := regexp.MustCompile(`^[A-Za-z0-9-]{1,40}( \(of its own\) ö)?$`)
			for _, name := range row.provider.created {
				if !ordinary.MatchString(name) {
					t.Errorf("the suite has given the name %q", name)
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
	// prevents are the beginnings of the cases that need what the break makes impossible.
	prevents []string
}{
	{"minimal and proxy-only", "creates-with-200", []string{"put/creates-with-201"}, []string{"race/"}},
	{"minimal and proxy-only", "put-answers-id-alone", []string{"put/answers-with-what-was-put"}, nil},
	{"minimal and proxy-only", "any-api-version", []string{"arguments/api-version-is-one-of-the-providers", "arguments/api-version-is-required"}, nil},
	{"minimal and tracked", "any-name", []string{"arguments/name-with-261-characters", "arguments/name-with-ampersand", "arguments/name-with-backslash", "arguments/name-with-colon", "arguments/name-with-control-character", "arguments/name-with-greater-than", "arguments/name-with-less-than", "arguments/name-with-percent", "arguments/name-with-question-mark"}, nil},
	{"minimal and proxy-only", "names-with-case", []string{"arguments/another-casing-is-no-other-resource", "arguments/group-and-names-match-in-any-casing"}, []string{"casing/"}},
	{"minimal and proxy-only", "names-normalized", []string{"arguments/the-latest-casing-is-returned"}, nil},
	{"minimal and proxy-only", "type-without-namespace", []string{"arguments/type-is-the-namespace-and-the-type"}, nil},
	{"minimal and proxy-only", "request-id-repeated", []string{"header/request-id"}, nil},
	{"minimal and proxy-only", "request-id-is-the-correlation-id", []string{"header/request-id"}, nil},
	{"minimal and proxy-only", "json-as-text", []string{"header/answers-are-json", "header/answers-to-writes-are-json", "header/errors-have-the-envelope"}, nil},
	{"asynchronous, with a status", "writes-as-text", []string{"header/answers-to-writes-are-json"}, nil},
	{"asynchronous, with a status", "polls-as-text", []string{"operation/is-json", "202/results-are-json"}, nil},
	{"minimal and proxy-only", "json-in-a-parameter", []string{"header/answers-are-json", "header/answers-to-writes-are-json", "header/errors-have-the-envelope"}, nil},
	{"minimal and proxy-only", "no-request-id", []string{"header/request-id"}, nil},
	{"minimal and proxy-only", "request-id-is-the-routing-id", []string{"header/request-id"}, nil},
	{"minimal and proxy-only", "errors-are-bare", []string{"header/errors-have-the-envelope"}, nil},
	{"minimal and tracked", "arrays-accepted", []string{"body/no-json-object"}, nil},
	{"minimal and proxy-only", "put-refused-where-it-exists", []string{"put/overwrites-with-200"}, []string{"arguments/another-casing-is-no-other-resource", "arguments/the-latest-casing-is-returned", "put/replaces-what-was-there", "put/what-was-read-can-be-put", "state/a-"}},
	{"minimal and proxy-only", "put-merges", []string{"put/replaces-what-was-there"}, nil},
	{"minimal and proxy-only", "absent-deleted-with-404", []string{"delete/200-then-204", "delete/of-what-never-was"}, nil},
	{"minimal and proxy-only", "deletes-nothing", []string{"delete/removes"}, []string{"race/put-and-delete", "retry/delete-", "arguments/group-and-names-match-in-any-casing", "delete/200-then-204", "delete/and-made-anew"}},
	{"minimal and proxy-only", "delete-with-body", []string{"delete/has-no-body"}, nil},
	{"minimal and proxy-only", "foreign-list-403", []string{"list/of-an-unknown-subscription"}, nil},
	{"minimal and proxy-only", "groups-by-prefix", []string{"list/groups-are-apart"}, nil},
	{"minimal and proxy-only", "empty-is-null", []string{"list/an-empty-collection"}, nil},
	{"minimal and proxy-only", "next-link-empty", []string{"list/the-last-page-has-no-nextlink"}, nil},
	{"minimal and proxy-only", "items-without-properties", []string{"list/items-are-resources"}, nil},
	{"minimal and proxy-only", "patch-creates", []string{"patch/of-what-is-not-there"}, nil},
	{"minimal and proxy-only", "patch-replaces-properties", []string{"patch/properties-follow-merge-patch"}, nil},
	{"minimal and proxy-only", "patch-answers-as-before", []string{"patch/answers-with-the-updated-resource"}, nil},
	{"minimal and proxy-only", "secret-lost", []string{"put/what-was-put-is-read"}, nil},
	{"minimal and proxy-only", "absent-204", []string{"get/what-is-not-there"}, nil},
	{"minimal and tracked", "id-encoded", []string{"arguments/id-is-not-encoded"}, nil},
	{"minimal and tracked", "id-with-host", []string{"arguments/id-is-not-encoded"}, nil},
	{"minimal and tracked", "name-from-the-body", []string{"put/name-type-and-id-come-from-the-url"}, nil},
	{"minimal and tracked", "location-optional", []string{"put/location-is-required"}, nil},
	{"minimal and tracked", "location-changes", []string{"patch/location-type-and-name-stay", "put/location-never-changes"}, nil},
	{"minimal and tracked", "long-tags", []string{"tags/value-of-257-is-refused"}, nil},
	{"minimal and tracked", "any-tag-name", []string{"tags/name-with-ampersand-is-refused", "tags/name-with-backslash-is-refused", "tags/name-with-control-character-is-refused", "tags/name-with-greater-than-is-refused", "tags/name-with-less-than-is-refused", "tags/name-with-percent-is-refused", "tags/name-with-question-mark-is-refused", "tags/name-with-slash-is-refused"}, nil},
	{"minimal and tracked", "put-keeps-tags", []string{"put/replaces-tags"}, nil},
	{"minimal and tracked", "put-without-tags-keeps-them", []string{"put/replaces-tags"}, nil},
	{"minimal and tracked", "patch-merges-tags", []string{"patch/tags-are-replaced-whole"}, nil},
	{"minimal and tracked", "patch-loses-tags", []string{"patch/properties-alone"}, nil},
	{"minimal and tracked", "properties-first-refused", []string{"body/members-in-any-order"}, nil},
	{"strict and odd", "page-loses-one", []string{"list/every-page-is-reached"}, []string{"list/writes-"}},
	{"strict and odd", "next-link-without-version", []string{"list/every-page-is-reached", "list/nextlink-keeps-the-clients-query"}, []string{"casing/of-a-next-link", "list/a-nextlink-twice", "list/writes-", "etag/header-body-and-list-item", "list/groups-are-apart", "list/of-a-subscription", "list/the-last-page-has-no-nextlink"}},
	{"strict and odd", "next-link-of-the-request", []string{"list/nextlink-is-on-the-host-of-the-referer"}, nil},
	{"asynchronous, by the state alone", "top-ignored", []string{"list/top"}, nil},
	{"strict and odd", "etag-strong", []string{"etag/is-weak"}, nil},
	{"strict and odd", "etag-constant", []string{"etag/changes-with-the-resource"}, nil},
	{"strict and odd", "etag-not-in-header", []string{"etag/header-body-and-list-item"}, nil},
	{"strict and odd", "preconditions-ignored", []string{"etag/of-concurrent-creators-one-wins", "etag/of-concurrent-writers-one-wins", "etag/table-delete-present-if-match-old", "etag/table-delete-present-if-match-other", "etag/table-patch-present-if-match-old", "etag/table-patch-present-if-match-other", "etag/table-put-absent-if-match-any", "etag/table-put-absent-if-match-other", "etag/table-put-present-if-match-list-of-others", "etag/table-put-present-if-match-old", "etag/table-put-present-if-match-other", "etag/table-put-present-if-none-match-any"}, nil},
	{"strict and odd", "delete-without-precondition", []string{"etag/table-delete-present-if-match-old", "etag/table-delete-present-if-match-other"}, nil},
	{"strict and odd", "if-none-match-ignored", []string{"etag/of-concurrent-creators-one-wins", "etag/table-put-present-if-none-match-any"}, nil},
	{"strict and odd", "state-not-compared", []string{"state/a-differing-one-is-refused"}, nil},
	{"strict and odd", "parts-survive", []string{"child/goes-with-its-parent"}, nil},
	{"strict and odd", "orphans", []string{"child/of-a-parent-that-is-not-there"}, nil},
	{"of defaults and secrets", "proxy-with-tags", []string{"child/proxy-only-has-no-tags-and-no-location"}, nil},
	{"asynchronous, with a status", "terminal-at-once", []string{"async-put/creates-in-a-state-that-is-not-terminal", "async-put/updates-in-a-state-that-is-not-terminal"}, nil},
	{"asynchronous, with a status", "ends-in-failed", []string{"async-put/ends-in-succeeded"}, []string{""}},
	{"asynchronous, with a status", "state-stays", []string{"202-delete/while-it-runs", "202-patch/while-it-runs"}, nil},
	{"asynchronous, with a status", "patch-ends-with-nothing", []string{"202-patch/ends-as-the-synchronous-call-would-have"}, nil},
	{"asynchronous, with a status", "deletes-nothing", []string{"202-delete/ends-with-the-resource", "delete/removes"}, []string{"race/put-and-delete", "retry/delete-", "arguments/group-and-names-match-in-any-casing", "delete/200-then-204", "delete/and-made-anew"}},
	{"asynchronous, with a status", "urls-relative", []string{"202-delete/its-urls-are-absolute-and-public", "202-patch/its-urls-are-absolute-and-public", "async-put/its-url-is-absolute-and-public"}, nil},
	{"asynchronous, with a status", "urls-of-the-request", []string{"202-delete/its-urls-are-absolute-and-public", "202-patch/its-urls-are-absolute-and-public", "async-put/its-url-is-absolute-and-public"}, nil},
	{"asynchronous, with a status", "urls-elsewhere", []string{"202/the-url-lies-in-one-of-the-contracts-places"}, nil},
	{"asynchronous, with a status", "no-location", []string{"202/says-where-it-ends", "202-delete/while-it-runs", "202-patch/while-it-runs"}, nil},
	{"asynchronous, with a status", "accepted-with-body", []string{"202-delete/has-no-body", "202-patch/has-no-body"}, nil},
	{"asynchronous, with a status", "retry-after-a-date", []string{"202/retry-after-is-an-integer-of-seconds"}, nil},
	{"asynchronous, with a status", "retry-after-too-soon", []string{"202/retry-after-is-from-10-to-600"}, nil},
	{"asynchronous, with a status", "operation-id-is-the-request-id", []string{"poll/the-id-appears-nowhere-else"}, nil},
	{"asynchronous, with a status", "seen-in-other-subscriptions", []string{"poll/in-another-subscription"}, nil},
	{"asynchronous, with a status", "seen-by-tenants", []string{"poll/after-its-end-by-somebody-else", "poll/in-another-tenant"}, nil},
	{"asynchronous, with a status", "tenants-not-compared", []string{"poll/in-another-tenant"}, nil},
	{"asynchronous, with a status", "seen-by-others", []string{"poll/after-its-end-by-somebody-else", "poll/by-a-caller-without-an-object-id", "poll/by-somebody-else"}, nil},
	{"asynchronous, with a status", "status-polled-with-202", []string{"operation/reading-it-is-200"}, nil},
	{"asynchronous, with a status", "no-status", []string{"operation/while-it-runs"}, nil},
	{"asynchronous, with a status", "times-not-iso", []string{"operation/that-succeeded", "operation/while-it-runs"}, nil},
	{"asynchronous, with a status", "percent-beyond", []string{"operation/that-succeeded", "operation/while-it-runs"}, nil},
	{"asynchronous, with a status", "properties-while-it-runs", []string{"operation/while-it-runs"}, nil},
	{"asynchronous, with a status", "operation-named-otherwise", []string{"operation/that-succeeded", "operation/while-it-runs"}, nil},
	{"asynchronous, with a status", "status-stays-odd", []string{"operation/that-succeeded"}, []string{"operation/ends-as-its-location-does"}},
	{"asynchronous, with a status", "state-vanishes", []string{"async-put/the-state-stays-shown"}, nil},
	{"asynchronous, with a status", "location-done-too-soon", []string{"202-delete/ends-with-the-resource", "202-patch/ends-with-the-update", "202-delete/while-it-runs", "202-patch/while-it-runs"}, nil},
	{"minimal and tracked", "bad-names-403", []string{"arguments/name-with-ampersand", "arguments/name-with-backslash", "arguments/name-with-colon", "arguments/name-with-control-character", "arguments/name-with-greater-than", "arguments/name-with-less-than", "arguments/name-with-percent", "arguments/name-with-question-mark"}, nil},
	{"accepting", "visible-too-soon", []string{"202-put/invisible-until-it-is-done"}, nil},
	{"accepting", "accepted-with-body", []string{"202-delete/has-no-body", "202-patch/has-no-body", "202-put/has-no-body"}, nil},
	{"accepting", "urls-relative", []string{"202-delete/its-urls-are-absolute-and-public", "202-patch/its-urls-are-absolute-and-public", "202-put/its-urls-are-absolute-and-public"}, nil},
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
					if !slices.ContainsFunc(row.prevents, func(begin string) bool { return strings.HasPrefix(r.Case, begin) }) {
						t.Errorf("%s is unreached: %s%s", r.Case, r.Why, tell(r.Faults))
					}
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

// What the described bodies cannot show is neither kept nor broken.
func TestSamplesThatShowNothing(t *testing.T) {
	t.Parallel()
	for breaks, id := range map[string]string{"put-merges": "put/replaces-what-was-there", "patch-replaces-properties": "patch/properties-follow-merge-patch"} {
		o := &outside{thin: true, broken: breaks}
		for _, r := range o.certify(t, []Profile{Core}) {
			if r.Case == id && (r.Outcome != LeftOut || !strings.HasPrefix(r.Why, sampleLacks)) {
				t.Errorf("%s: %s is %s: %s%s", breaks, id, r.Outcome, r.Why, tell(r.Faults))
			}
		}
	}
}

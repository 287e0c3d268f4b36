package contract_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"portico/provider/certify/contract"
	"portico/provider/contoso"
)

// noticed lists for each deliberate break of the reference provider the cases that check
// the broken rule. These are broken, and no others.
var noticed = map[string][]string{
	"case-sensitive-names":         {"arguments/group-and-names-match-in-any-casing"},
	"normalised-casing":            {"arguments/the-latest-casing-is-returned"},
	"name-from-body":               {"put/name-type-and-id-come-from-the-url"},
	"mutable-location":             {"put/location-never-changes", "patch/location-type-and-name-stay"},
	"tags-merged-on-patch":         {"patch/tags-are-replaced-whole"},
	"properties-replaced-on-patch": {"patch/properties-follow-merge-patch"},
	"sku-patch-clears-rest":        {"patch/sku-alone"},
	"delete-absent-404":            {"delete/of-what-never-was", "delete/200-then-204"},
	"put-existing-409":             {"put/overwrites-with-200", "preflight/accepts-what-the-put-accepts"},
	"empty-next-link":              {"list/the-last-page-has-no-nextlink"},
	"page-loses-item":              {"list/every-page-is-reached"},
	"next-link-from-host":          {"list/nextlink-is-on-the-host-of-the-referer"},
	"etag-strong":                  {"etag/is-weak"},
	"etag-header-missing":          {"etag/header-body-and-list-item"},
	"if-match-ignored": {
		"etag/of-concurrent-writers-one-wins",
		"etag/table-put-absent-if-match-any", "etag/table-put-absent-if-match-other",
		"etag/table-put-present-if-match-other", "etag/table-put-present-if-match-old", "etag/table-put-present-if-match-list-of-others",
		"etag/table-patch-present-if-match-other", "etag/table-patch-present-if-match-old",
		"etag/table-delete-present-if-match-other", "etag/table-delete-present-if-match-old",
	},
	"if-none-match-ignored":        {"etag/of-concurrent-creators-one-wins", "etag/table-put-present-if-none-match-any"},
	"old-version-ignores-if-match": {"etag/version-without-tags"},
	"provisioning-state-accepted":  {"state/a-differing-one-is-refused", "state/a-differing-one-is-refused-during-an-operation"},
	"async-put-terminal-at-once":   {"async-put/creates-in-a-state-that-is-not-terminal", "async-put/updates-in-a-state-that-is-not-terminal"},
	"async-202-visible":            {"202-put/invisible-until-it-is-done", "202-put/a-failed-creation"},
	"async-202-body":               eachWrite("has-no-body"),
	"location-relative":            eachWrite("its-urls-are-absolute-and-public"),
	"location-from-host":           eachWrite("its-urls-are-absolute-and-public"),
	"status-poll-202":              {"operation/reading-it-is-200"},
	"location-result-differs":      {"202-put/ends-as-the-synchronous-call-would-have", "202-patch/ends-as-the-synchronous-call-would-have", "202-post/ends-as-the-synchronous-call-would-have"},
	"operation-seen-by-others":     {"poll/by-somebody-else", "poll/in-another-tenant", "poll/after-its-end-by-somebody-else", "poll/by-a-caller-without-an-object-id", "poll/in-another-subscription"},
	"operation-id-is-request-id":   {"poll/the-id-appears-nowhere-else"},
	"failed-update-kept":           {"async-put/a-failed-update-is-reverted", "202-patch/a-failed-one-is-reverted"},
	"children-survive":             {"child/goes-with-its-parent", "child/goes-with-its-parents-asynchronous-delete", "child/of-a-parent-that-is-not-there"},
	"refuse-ignored":               {"child/keeps-its-parent"},
	"proxy-child-has-tags":         {"child/proxy-only-has-no-tags-and-no-location"},
	"request-id-is-routing-id":     {"header/request-id"},
	"system-data-dropped":          {"header/systemdata"},
	"skus-missing-404":             {"skus/where-none-is-valid"},
	"unregistered-list-403":        {"subscription/list-of-an-unregistered-one"},
	"check-name-wrong":             {"name/free-taken-or-invalid"},
	"action-unknown-200":           {"action/unknown"},
	"head-with-body":               {"get/head-has-no-body-on-the-wire"},

	"move-answers-body":            {"move/answers-200-or-202"},
	"move-copies":                  {"move/takes-the-resource-from-its-group"},
	"move-keeps-subscription":      {"move/to-another-subscription"},
	"move-leaves-children":         {"move/takes-children-along"},
	"move-absent-skipped":          {"move/of-what-is-not-there"},
	"move-refused-half":            {"move/a-refused-one-moves-nothing"},
	"move-again-loses":             {"move/sent-twice"},
	"move-first-alone":             {"move/of-several"},
	"move-no-location":             {"move/by-an-operation"},
	"created-for-put-untagged":     {"created-for/upon-put"},
	"created-for-patch-untagged":   {"created-for/upon-patch"},
	"created-for-shown":            {"created-for/not-at-the-customers"},
	"managed-by-kept":              {"managed-by/goes-with-a-put-without-it"},
	"managed-by-fixed":             {"managed-by/is-replaced"},
	"certificate-not-asked":        {"certificate/none-is-refused"},
	"certificate-any":              {"certificate/an-untrusted-one-is-refused"},
	"certificate-too-late":         {"certificate/an-untrusted-call-does-nothing"},
	"envelope-repeated":            {"envelope/is-not-repeated-in-properties"},
	"member-beside-properties":     {"envelope/everything-else-lies-in-properties"},
	"unknown-member-500":           {"envelope/a-member-that-nobody-knows"},
	"properties-null-500":          {"envelope/properties-null-in-a-patch"},
	"delete-status-fails":          {"operation/ends-as-its-location-does"},
	"repeated-put-500":             {"retry/put-while-the-first-runs"},
	"repeated-delete-500":          {"retry/delete-while-the-first-runs"},
	"repeated-post-500":            {"retry/post-twice"},
	"subscription-casing-doubles":  {"casing/of-the-subscription"},
	"type-casing-doubles":          {"casing/of-the-type"},
	"next-link-casing":             {"casing/of-a-next-link"},
	"poll-casing":                  {"casing/of-a-polling-url"},
	"two-creations":                {"race/one-creation"},
	"lost-delete":                  {"race/put-and-delete"},
	"page-by-offset":               {"list/writes-before-a-page"},
	"next-link-once":               {"list/a-nextlink-twice"},
	"next-link-long":               {"list/nextlink-fits-a-request"},
	"throttled-bare":               {"throttle/says-when-to-come-again"},
	"throttled-without-error":      {"throttle/has-an-error"},
	"burst-500":                    {"throttle/a-burst-of-reads"},
	"next-link-stale":              {"list/writes-behind-a-page", "list/writes-before-a-page"},
	"tags-kept-by-put":             {"put/replaces-tags"},
	"tenant-not-compared":          {"poll/in-another-tenant"},
	"request-id-is-correlation-id": {"header/request-id"},
	"json-as-text":                 {"header/answers-are-json", "header/answers-to-writes-are-json", "operation/is-json", "202/results-are-json", "header/errors-have-the-envelope"},
	"lists-as-text":                {"header/answers-are-json"},
	"writes-as-text":               {"header/answers-to-writes-are-json"},
	"operations-as-text":           {"operation/is-json", "202/results-are-json"},
	"errors-as-text":               {"header/errors-have-the-envelope"},
	"next-link-loops":              {"list/every-page-is-reached"},
	"state-nobody-knows":           {"state/ends-in-one-that-clients-know", "async-put/ends-in-succeeded", "202-put/ends-with-the-resource"},
	"state-cancelled":              {"async-put/a-failed-update-is-reverted", "operation/that-failed-or-was-canceled"},
	"delete-without-location":      {"202-delete/while-it-runs", "202/says-where-it-ends"},
	"any-api-version":              {"arguments/api-version-is-one-of-the-providers"},
	"any-group-name":               {"arguments/group-with-91-characters", "arguments/group-with-final-dot", "arguments/group-with-space", "arguments/group-with-star"},
	"preflight-accepts-all":        {"preflight/refuses-what-the-put-refuses"},
	"preflight-refuses-all":        {"preflight/accepts-what-the-put-accepts"},
	"preflight-answers-400":        {"preflight/answers-200"},
	"preflight-creates":            {"preflight/keeps-nothing"},
	"preflight-first-alone":        {"preflight/of-several"},
	"preflight-unknown-500":        {"preflight/of-an-unknown-type"},
	"preflight-slow":               {"preflight/within-its-time"},
}

// prevented has the beginnings of the cases that a break keeps from being tried: their
// rules are about what it makes impossible.
var prevented = map[string][]string{
	"put-existing-409":  {"managed-by/", "arguments/", "async-put/", "202-put/", "etag/", "put/", "state/", "subscription/while-"},
	"delete-absent-404": {"etag/table-delete-absent-"},

	"case-sensitive-names":  {"casing/of-the-"},
	"page-loses-item":       {"list/writes-"},
	"next-link-loops":       {"list/writes-"},
	"next-link-stale":       {"list/of-a-subscription"}, // other cases write meanwhile
	"move-absent-skipped":   {"move/a-refused-one-moves-nothing"},
	"certificate-not-asked": {"certificate/an-untrusted-call-does-nothing"},
	"state-nobody-knows":    {""}, // no resource can be made

	"delete-without-location": {"202-delete/", "operation/ends-as-its-location-does"},
}

// eachWrite is a case of every family of 202.
func eachWrite(what string) []string {
	return []string{"202-put/" + what, "202-patch/" + what, "202-delete/" + what, "202-post/" + what}
}

// limits suit a provider whose operations end soon, on a machine that may stand still. Of
// the breaks one alone keeps what is waited for from coming, and has a limit of its own.
var limits = contract.Limits{Wait: 5 * time.Minute, Pause: 50 * time.Millisecond, Answer: time.Hour}

// TestBreaks checks that of each rule that the reference provider can be told to break the
// suite names the cases that hold it, and no other; without a break it names none.
func TestBreaks(t *testing.T) {
	t.Parallel()
	known := map[string]bool{}
	for _, b := range contoso.Breaks() {
		known[b.Name] = true
		cases := noticed[b.Name]
		if len(cases) == 0 {
			t.Errorf("no case is said to hold the rule that %s breaks: %s, %s", b.Name, b.Section, b.Description)
			continue
		}
		t.Run(b.Name, func(t *testing.T) {
			t.Parallel()
			broken, unreached, scripts := tryBroken(t, b.Name)
			showAgain(t, b.Name, broken, scripts)
			for _, id := range cases {
				if broken[id] == nil {
					t.Errorf("the case %s does not notice that %s: %s", id, b.Section, b.Description)
				}
			}
			for id, faults := range broken {
				if !slices.Contains(cases, id) {
					t.Errorf("the case %s is broken, whose rule is another than that %s: %s\n%s", id, b.Section, b.Description, tell(faults))
				}
			}
			for id, faults := range unreached {
				if !slices.ContainsFunc(prevented[b.Name], func(begin string) bool { return strings.HasPrefix(id, begin) }) {
					t.Errorf("the case %s is not reached, although %s does not prevent it\n%s", id, b.Name, tell(faults))
				}
			}
		})
	}
	t.Run("none", func(t *testing.T) {
		t.Parallel()
		broken, unreached, _ := tryBroken(t)
		for _, found := range []map[string][]contract.Fault{broken, unreached} {
			for id, faults := range found {
				t.Errorf("without a break the case %s fails:\n%s", id, tell(faults))
			}
		}
	})
	for name := range noticed {
		if !known[name] {
			t.Errorf("the reference provider has no break %s", name)
		}
	}
}

func limitsOf(breaks []string) contract.Limits {
	own := limits
	if slices.Contains(breaks, "state-nobody-knows") {
		own.Wait = time.Second
	}
	return own
}

// tell describes faults.
func tell(faults []contract.Fault) string {
	var text strings.Builder
	for _, f := range faults {
		fmt.Fprintf(&text, "  expected: %s\n  got:      %s\n", f.Expected, f.Got)
	}
	return text.String()
}

// tryBroken runs the suite against one endpoint with the breaks, and returns the faults of
// the cases that are broken, and of those that are not reached, by their ids, and the
// scripts of the former.
func tryBroken(t *testing.T, breaks ...string) (broken, unreached map[string][]contract.Fault, scripts map[string]string) {
	t.Helper()
	endpoint := serveHere(t, contoso.Options{Region: "westus", Breaks: breaks}, nil)
	var recorder contract.Recorder
	err := contract.Try(t.Context(), contract.Target{
		Adapter:     contract.Straight(map[string]string{"westus": endpoint}),
		Description: describe(t),
		OnceEach:    true,
		Workers:     8,
		Limits:      limitsOf(breaks),
		Disruptive:  true,
	}, &recorder)
	if err != nil {
		t.Fatal(err)
	}
	tryClusters(t, &recorder, breaks...)
	tryCertificates(t, &recorder, breaks...)
	broken, unreached, scripts = map[string][]contract.Fault{}, map[string][]contract.Fault{}, map[string]string{}
	for _, r := range recorder.Results() {
		switch r.Outcome {
		case contract.Broken:
			broken[r.Case] = r.Faults
			scripts[r.Case] = r.Script
		case contract.Unreached:
			unreached[r.Case] = r.Faults
		}
	}
	return broken, unreached, scripts
}

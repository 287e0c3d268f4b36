package contract_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"portico/certify/contract"
	"portico/test/contoso"
)

// noticed lists for each deliberate break of the reference provider the cases that
// check the broken rule. Each of them must fail.
var noticed = map[string][]string{
	"case-sensitive-names":         {"arguments/group-and-names-match-in-any-casing"},
	"normalised-casing":            {"arguments/the-latest-casing-is-returned"},
	"name-from-body":               {"put/name-type-and-id-come-from-the-url"},
	"mutable-location":             {"put/location-never-changes", "patch/location-type-and-name-stay"},
	"tags-merged-on-patch":         {"patch/tags-are-replaced-whole"},
	"properties-replaced-on-patch": {"patch/properties-follow-merge-patch"},
	"sku-patch-clears-rest":        {"patch/sku-alone"},
	"delete-absent-404":            {"delete/of-what-never-was", "delete/200-then-204"},
	"put-existing-409":             {"put/overwrites-with-200"},
	"empty-next-link":              {"list/every-page-is-reached"},
	"page-loses-item":              {"list/every-page-is-reached", "list/top"},
	"next-link-from-host":          {"list/every-page-is-reached"},
	"etag-strong":                  {"etag/is-weak"},
	"etag-header-missing":          {"etag/header-body-and-list-item"},
	"if-match-ignored":             {"etag/a-refused-write-changes-nothing", "etag/of-concurrent-writers-one-wins", "etag/table-put-present-if-match-old", "etag/table-delete-present-if-match-old"},
	"if-none-match-ignored":        {"etag/if-none-match-on-get", "etag/table-put-present-if-none-match-any"},
	"old-version-ignores-if-match": {"etag/version-without-tags"},
	"provisioning-state-accepted":  {"state/a-differing-one-is-refused"},
	"async-put-terminal-at-once":   {"async-put/creates-in-a-state-that-is-not-terminal", "async-put/updates-in-a-state-that-is-not-terminal"},
	"async-202-visible":            {"202-put/invisible-until-it-is-done"},
	"async-202-body":               {"202-put/invisible-until-it-is-done", "202-patch/while-it-runs", "202-delete/while-it-runs", "202-post/while-it-runs"},
	"location-relative":            {"202-patch/while-it-runs", "202-delete/while-it-runs", "202-post/while-it-runs"},
	"location-from-host":           {"202-patch/while-it-runs", "202-delete/while-it-runs", "202-post/while-it-runs"},
	"status-poll-202":              {"operation/while-it-runs"},
	"location-result-differs":      {"202-put/ends-as-the-synchronous-call-would-have"},
	"operation-seen-by-others":     {"poll/by-somebody-else", "poll/in-another-subscription"},
	"operation-id-is-request-id":   {"poll/the-id-appears-nowhere-else"},
	"failed-update-kept":           {"async-put/a-failed-update-is-reverted"},
	"children-survive":             {"child/goes-with-its-parent"},
	"refuse-ignored":               {"child/keeps-its-parent"},
	"proxy-child-has-tags":         {"child/proxy-only-has-no-tags-and-no-location"},
	"request-id-is-routing-id":     {"header/request-id"},
	"system-data-dropped":          {"header/systemdata"},
	"skus-missing-404":             {"skus/where-none-is-valid"},
	"unregistered-list-403":        {"subscription/list-of-an-unregistered-one"},
	"check-name-wrong":             {"name/free-taken-or-invalid"},
	"action-unknown-200":           {"action/unknown"},
	"head-with-body":               {"get/head-has-no-body-on-the-wire"},

	"move-answers-body":           {"move/answers-200-or-202"},
	"move-copies":                 {"move/takes-the-resource-from-its-group"},
	"move-keeps-subscription":     {"move/to-another-subscription"},
	"move-leaves-children":        {"move/takes-children-along"},
	"move-absent-skipped":         {"move/of-what-is-not-there"},
	"move-refused-half":           {"move/a-refused-one-moves-nothing"},
	"move-again-loses":            {"move/sent-twice"},
	"move-no-location":            {"move/by-an-operation"},
	"created-for-put-untagged":    {"created-for/upon-put"},
	"created-for-patch-untagged":  {"created-for/upon-patch"},
	"created-for-shown":           {"created-for/not-at-the-customers"},
	"managed-by-kept":             {"managed-by/goes-with-a-put-without-it"},
	"managed-by-fixed":            {"managed-by/is-replaced"},
	"certificate-not-asked":       {"certificate/none-is-refused"},
	"certificate-any":             {"certificate/an-untrusted-one-is-refused"},
	"certificate-too-late":        {"certificate/an-untrusted-call-does-nothing"},
	"envelope-repeated":           {"envelope/is-not-repeated-in-properties"},
	"member-beside-properties":    {"envelope/everything-else-lies-in-properties"},
	"unknown-member-500":          {"envelope/a-member-that-nobody-knows"},
	"properties-null-500":         {"envelope/properties-null-in-a-patch"},
	"delete-status-fails":         {"operation/ends-as-its-location-does"},
	"repeated-put-500":            {"retry/put-while-the-first-runs"},
	"repeated-delete-500":         {"retry/delete-while-the-first-runs"},
	"repeated-post-500":           {"retry/post-twice"},
	"subscription-casing-doubles": {"casing/of-the-subscription"},
	"type-casing-doubles":         {"casing/of-the-type"},
	"next-link-casing":            {"casing/of-a-next-link"},
	"poll-casing":                 {"casing/of-a-polling-url"},
	"two-creations":               {"race/one-creation"},
	"lost-delete":                 {"race/put-and-delete"},
	"page-by-offset":              {"list/writes-between-pages"},
	"next-link-once":              {"list/a-next-link-twice"},
	"throttled-bare":              {"throttle/says-when-to-come-again"},
	"throttled-without-error":     {"throttle/has-an-error"},
	"burst-500":                   {"throttle/a-burst-of-reads"},
}

// TestBreaks checks that the suite notices each rule that the reference provider can be
// told to break, in the right cases; without a break it notices nothing.
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
			failed := tryBroken(t, b.Name)
			for _, name := range cases {
				if !slices.Contains(failed, name) {
					t.Errorf("the case %q does not notice that %s: %s\ncases that failed: %s", name, b.Section, b.Description, strings.Join(failed, "; "))
				}
			}
			t.Logf("%d cases notice it: %s", len(failed), strings.Join(failed, "; "))
		})
	}
	t.Run("none", func(t *testing.T) {
		t.Parallel()
		if failed := tryBroken(t); len(failed) > 0 {
			t.Errorf("without a break these cases fail: %s", strings.Join(failed, "; "))
		}
	})
	for name := range noticed {
		if !known[name] {
			t.Errorf("the reference provider has no break %s", name)
		}
	}
}

// tryBroken runs the suite against one endpoint with the breaks and returns the cases
// that failed, each once.
func tryBroken(t *testing.T, breaks ...string) []string {
	t.Helper()
	var args []string
	for _, name := range breaks {
		args = append(args, "--break", name)
	}
	endpoint := startProvider(t, "westus", args...)
	var recorder contract.Recorder
	err := contract.Try(t.Context(), contract.Target{
		Adapter:     contract.Straight(map[string]string{"westus": endpoint}),
		Description: describe(t),
		OnceEach:    true,
		Disruptive:  true,
		// The machine that runs the tests may stand still for a while.
		AnswerWithin: time.Hour,
	}, &recorder)
	if err != nil {
		t.Fatal(err)
	}
	tryClusters(t, &recorder, args...)
	tryCertificates(t, &recorder, args...)
	var failed []string
	for _, r := range recorder.Results() {
		if r.Outcome == contract.Broken || r.Outcome == contract.Unreached {
			failed = append(failed, r.Case)
		}
	}
	return slices.Compact(failed)
}

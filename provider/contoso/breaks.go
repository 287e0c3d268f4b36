package contoso

import (
	"fmt"
	"slices"
	"strings"
)

// Break is a rule of the contract that contoso can break on request, to show
// that a conformance suite notices.
type Break struct {
	Name        string // for Options.Breaks and contoso --break
	Section     string // section of the contract with the rule
	Description string // the broken behaviour
}

// Names of deliberate breaks; breakList explains each.
const (
	caseSensitiveNames        = "case-sensitive-names"
	normalisedCasing          = "normalised-casing"
	nameFromBody              = "name-from-body"
	mutableLocation           = "mutable-location"
	tagsMergedOnPatch         = "tags-merged-on-patch"
	propertiesReplacedOnPatch = "properties-replaced-on-patch"
	skuPatchClearsRest        = "sku-patch-clears-rest"
	deleteAbsent404           = "delete-absent-404"
	putExisting409            = "put-existing-409"
	emptyNextLink             = "empty-next-link"
	pageLosesItem             = "page-loses-item"
	nextLinkFromHost          = "next-link-from-host"
	etagStrong                = "etag-strong"
	etagHeaderMissing         = "etag-header-missing"
	ifMatchIgnored            = "if-match-ignored"
	ifNoneMatchIgnored        = "if-none-match-ignored"
	oldVersionIgnoresIfMatch  = "old-version-ignores-if-match"
	provisioningStateAccepted = "provisioning-state-accepted"
	asyncPutTerminalAtOnce    = "async-put-terminal-at-once"
	async202Visible           = "async-202-visible"
	async202Body              = "async-202-body"
	locationRelative          = "location-relative"
	locationFromHost          = "location-from-host"
	statusPoll202             = "status-poll-202"
	locationResultDiffers     = "location-result-differs"
	operationSeenByOthers     = "operation-seen-by-others"
	operationIDIsRequestID    = "operation-id-is-request-id"
	failedUpdateKept          = "failed-update-kept"
	childrenSurvive           = "children-survive"
	refuseIgnored             = "refuse-ignored"
	proxyChildHasTags         = "proxy-child-has-tags"
	requestIDIsRoutingID      = "request-id-is-routing-id"
	systemDataDropped         = "system-data-dropped"
	skusMissing404            = "skus-missing-404"
	unregisteredList403       = "unregistered-list-403"
	checkNameWrong            = "check-name-wrong"
	actionUnknown200          = "action-unknown-200"
	headWithBody              = "head-with-body"
	moveAnswersBody           = "move-answers-body"
	moveCopies                = "move-copies"
	moveKeepsSubscription     = "move-keeps-subscription"
	moveLeavesChildren        = "move-leaves-children"
	moveAbsentSkipped         = "move-absent-skipped"
	moveRefusedHalf           = "move-refused-half"
	moveAgainLoses            = "move-again-loses"
	moveFirstAlone            = "move-first-alone"
	moveNoLocation            = "move-no-location"
	createdForPutUntagged     = "created-for-put-untagged"
	createdForPatchUntagged   = "created-for-patch-untagged"
	createdForShown           = "created-for-shown"
	managedByKept             = "managed-by-kept"
	managedByFixed            = "managed-by-fixed"
	certificateNotRequired    = "certificate-not-asked"
	certificateAny            = "certificate-any"
	certificateTooLate        = "certificate-too-late"
	envelopeRepeated          = "envelope-repeated"
	memberOutsideProperties   = "member-beside-properties"
	unknownMember500          = "unknown-member-500"
	propertiesNull500         = "properties-null-500"
	deleteStatusFails         = "delete-status-fails"
	repeatedPut500            = "repeated-put-500"
	repeatedDelete500         = "repeated-delete-500"
	repeatedPost500           = "repeated-post-500"
	subscriptionCasing        = "subscription-casing-doubles"
	typeCasing                = "type-casing-doubles"
	nextLinkCasing            = "next-link-casing"
	pollCasing                = "poll-casing"
	twoCreations              = "two-creations"
	lostDelete                = "lost-delete"
	pageByOffset              = "page-by-offset"
	nextLinkOnce              = "next-link-once"
	nextLinkStale             = "next-link-stale"
	nextLinkLong              = "next-link-long"
	throttledBare             = "throttled-bare"
	throttledWithoutError     = "throttled-without-error"
	burst500                  = "burst-500"
	preflightAcceptsAll       = "preflight-accepts-all"
	preflightRefusesAll       = "preflight-refuses-all"
	preflightAnswers400       = "preflight-answers-400"
	preflightCreates          = "preflight-creates"
	preflightFirstAlone       = "preflight-first-alone"
	preflightUnknown500       = "preflight-unknown-500"
	preflightSlow             = "preflight-slow"
	tagsKeptByPut             = "tags-kept-by-put"
	tenantNotCompared         = "tenant-not-compared"
	requestIDIsCorrelationID  = "request-id-is-correlation-id"
	jsonAsText                = "json-as-text"
	listsAsText               = "lists-as-text"
	writesAsText              = "writes-as-text"
	operationsAsText          = "operations-as-text"
	errorsAsText              = "errors-as-text"
	nextLinkLoops             = "next-link-loops"
	unknownState              = "state-nobody-knows"
	cancelledState            = "state-cancelled"
	deleteWithoutLocation     = "delete-without-location"
	anyAPIVersion             = "any-api-version"
	anyGroupName              = "any-group-name"
)

// Sections of the contract, as breaks name them.
const (
	sectionPut          = "resource reference, Put Resource"
	sectionPatch        = "resource reference, Patch Resource"
	sectionDelete       = "resource reference, Delete Resource"
	sectionGet          = "resource reference, Get Resource"
	sectionPaging       = "resource reference, Paging Response Body"
	sectionETags        = "addendum, ETags for Resources"
	sectionTracing      = "addendum, Instrumentation and Tracing across services"
	sectionDesign       = "addendum, Designing Resources"
	sectionSkus         = "addendum, Enumerating SKUs for an existing resource"
	sectionAsyncPut     = "async reference, Creating/Updating using PUT"
	sectionAsyncPost    = "async reference, Call Action POST Asynchronously"
	sectionState        = "async reference, ProvisioningState property"
	sectionAccepted     = "async reference, 202 Accepted and Location Headers"
	sectionStatus       = "async reference, Azure-AsyncOperation Resource format"
	sectionResultRules  = "async reference, Operation result rules"
	sectionEntityTag    = "etag spec, Proposed change"
	sectionSystemData   = "common headers, x-ms-arm-resource-system-data"
	sectionNameCheck    = "check name availability"
	sectionArguments    = "resource reference, Arguments for CRUD on Resource"
	sectionMove         = "resource reference, Move Resource"
	sectionRetry        = "addendum, Retrying REST Calls"
	sectionCreatedFor   = "addendum, Correlating resources created on behalf of customer"
	sectionHTTPSemantic = "HTTP semantics, HEAD"
	sectionPreflight    = "preflight"
)

var breakList = [...]Break{
	{caseSensitiveNames, sectionPut, "A resource is found only by group and names in the casing of its last write."},
	{normalisedCasing, sectionPut, "Group and names come back in lower case instead of the latest casing."},
	{nameFromBody, sectionPut, "The name of the body is returned instead of the URL's."},
	{mutableLocation, sectionPut, "A PUT or PATCH may change the location of a resource."},
	{tagsMergedOnPatch, sectionPatch, "PATCH adds its tags to the existing ones."},
	{propertiesReplacedOnPatch, sectionPatch, "PATCH replaces the properties instead of merging them."},
	{skuPatchClearsRest, sectionPatch, "A PATCH with a sku removes tags, properties and all other members that it does not name."},
	{deleteAbsent404, sectionDelete, "DELETE of a resource that does not exist is 404."},
	{putExisting409, sectionPut, "PUT of a resource that exists is 409."},
	{emptyNextLink, sectionPaging, "The last page has an empty nextLink."},
	{pageLosesItem, sectionPaging, "The first resource of each further page is left out."},
	{nextLinkFromHost, sectionPaging, "nextLink is built from the Host header instead of the referer."},
	{etagStrong, sectionEntityTag, "ETags lack the mark of weakness, W/."},
	{etagHeaderMissing, sectionGet, "The body's etag is not given as a header too."},
	{ifMatchIgnored, sectionETags, "If-Match has no effect."},
	{ifNoneMatchIgnored, sectionETags, "If-None-Match has no effect."},
	{oldVersionIgnoresIfMatch, "etag spec, Other end user impact",
		"The api-version without ETags carries out writes with preconditions instead of answering 406."},
	{provisioningStateAccepted, sectionState, "A provisioningState that differs from the resource's own is accepted."},
	{asyncPutTerminalAtOnce, sectionAsyncPut, "An asynchronous PUT shows Succeeded while its operation still runs."},
	{async202Visible, sectionAccepted, "A resource whose creation was answered with 202 is visible at once."},
	{async202Body, sectionAccepted, "Answers of 202 have a body."},
	{locationRelative, sectionAccepted, "The Location header has no scheme and host."},
	{locationFromHost, sectionAccepted, "The Location header is built from the Host header instead of the referer."},
	{statusPoll202, sectionStatus, "The status of an operation that still runs is answered with 202."},
	{locationResultDiffers, sectionAccepted, "Once done, the Location URL answers differently than the synchronous call."},
	{operationSeenByOthers, sectionResultRules, "Operations are shown to every subscription, tenant and caller."},
	{operationIDIsRequestID, sectionResultRules, "An operation's id is the x-ms-request-id of the answer that started it."},
	{failedUpdateKept, sectionAsyncPut, "The changes of a failed update stay."},
	{childrenSurvive, sectionDesign, "Nested resources and extensions still exist after their parent is deleted."},
	{refuseIgnored, sectionDesign, "A resource with nested ones is deleted although its deletionPolicy is refuse."},
	{proxyChildHasTags, sectionDesign, "Proxy-only resources show tags."},
	{requestIDIsRoutingID, sectionTracing, "x-ms-request-id repeats x-ms-routing-request-id."},
	{systemDataDropped, sectionSystemData, "systemData is neither kept nor returned."},
	{skusMissing404, sectionSkus, "If no SKU is valid, the answer is 404 instead of an empty list."},
	{unregisteredList403, sectionGet, "Lists of an unregistered subscription are 403."},
	{checkNameWrong, sectionNameCheck, "A taken name is reported as available."},
	{actionUnknown200, sectionAsyncPost, "An action that no type has is answered with 200."},
	{headWithBody, sectionHTTPSemantic, "HEAD is answered with a body; clients' libraries hide it, a plain connection shows it."},
	{moveAnswersBody, sectionMove, "A move is answered with a body."},
	{moveCopies, sectionMove, "A move leaves the resources in the source group too."},
	{moveKeepsSubscription, sectionMove, "A move stays in its subscription, whichever the target lies in."},
	{moveLeavesChildren, sectionMove, "A move does not move nested resources."},
	{moveAbsentSkipped, sectionMove, "A move skips resources that do not exist."},
	{moveRefusedHalf, sectionMove, "A move that is refused has moved its first resource."},
	{moveAgainLoses, sectionMove, "A move sent again loses the resources that it has moved."},
	{moveFirstAlone, sectionMove, "A move of several resources moves only the first, and is answered as if it had moved all."},
	{moveNoLocation, sectionMove, "The 202 of a move has no Location."},
	{createdForPutUntagged, sectionCreatedFor, "Resources created in the internal subscription for a PUT have no tag."},
	{createdForPatchUntagged, sectionCreatedFor, "Resources created in the internal subscription for a PATCH have no tag."},
	{createdForShown, sectionCreatedFor, "The customer's resource shows the tag too."},
	{managedByKept, sectionPut, "A PUT without managedBy keeps the old one."},
	{managedByFixed, sectionPut, "A PUT with another managedBy keeps the old one."},
	{certificateNotRequired, sectionPut, "A front door that shows no certificate is served."},
	{certificateAny, sectionPut, "A certificate of any authority is trusted."},
	{certificateTooLate, sectionPut, "A call that is refused because of its certificate is carried out first."},
	{envelopeRepeated, sectionPut, "The name is also inside properties."},
	{memberOutsideProperties, sectionPut, "A member of the provider's own is next to properties."},
	{unknownMember500, sectionPut, "An unknown member next to properties is a 500."},
	{propertiesNull500, sectionPatch, "A PATCH with null for properties is a 500."},
	{deleteStatusFails, sectionStatus, "The status of a DELETE that succeeded is Failed."},
	{repeatedPut500, sectionRetry, "A PUT of a resource whose operation runs is a 500."},
	{repeatedDelete500, sectionRetry, "A DELETE of a resource that is being deleted is a 500."},
	{repeatedPost500, sectionRetry, "An action that is sent again is a 500."},
	{subscriptionCasing, sectionArguments, "An id whose subscription is in another casing names another resource."},
	{typeCasing, sectionArguments, "An id whose type is in another casing names another resource."},
	{nextLinkCasing, sectionPaging, "A nextLink works only with its group in the original casing."},
	{pollCasing, sectionAccepted, "A polling URL works only in its original casing."},
	{twoCreations, sectionPut, "Two concurrent PUTs of a new resource both create it."},
	{lostDelete, sectionDelete, "A PUT that started before a DELETE ignores it."},
	{pageByOffset, sectionPaging, "A page begins at a number of resources instead of after the last one sent."},
	{nextLinkStale, sectionPaging, "A nextLink works only while no resource is created or deleted."},
	{nextLinkOnce, sectionPaging, "A nextLink can be read once."},
	{nextLinkLong, sectionPaging, "A nextLink has more than 16 KiB."},
	{throttledBare, sectionRetry, "Too many reads of a resource are 429 without Retry-After."},
	{throttledWithoutError, sectionRetry, "Too many reads of a resource are 429 without an error."},
	{burst500, sectionRetry, "Too many reads of a resource are a 500."},
	{preflightAcceptsAll, sectionPreflight, "A preflight accepts a location that the PUT refuses."},
	{preflightRefusesAll, sectionPreflight, "A preflight refuses a resource that already exists."},
	{preflightAnswers400, sectionPreflight, "A preflight that refuses is answered with 400."},
	{preflightCreates, sectionPreflight, "A preflight of one resource creates it."},
	{preflightFirstAlone, sectionPreflight, "A preflight of several resources checks only the first."},
	{preflightUnknown500, sectionPreflight, "A preflight of an unknown type is a 500."},
	{preflightSlow, sectionPreflight, "A preflight is answered after more than 5 seconds."},
	{tagsKeptByPut, sectionPut, "A PUT without tags keeps the old ones."},
	{tenantNotCompared, sectionResultRules, "Operations are shown to a caller of the same object id in another tenant."},
	{requestIDIsCorrelationID, sectionTracing, "x-ms-request-id repeats x-ms-correlation-request-id."},
	{jsonAsText, sectionGet, "JSON answers have the Content-Type text/plain."},
	{listsAsText, sectionGet, "Only lists have the Content-Type text/plain."},
	{writesAsText, sectionPut, "Only answers to writes have the Content-Type text/plain."},
	{operationsAsText, sectionStatus, "Only operations and their results have the Content-Type text/plain."},
	{errorsAsText, sectionStatus, "Only errors have the Content-Type text/plain."},
	{nextLinkLoops, sectionPaging, "The nextLink of a further page leads to that page again."},
	{unknownState, sectionState, "A resource without a running operation has a provisioningState that the contract lacks."},
	{cancelledState, sectionState, "Canceled is spelled Cancelled."},
	{deleteWithoutLocation, sectionAccepted, "The 202 of a DELETE has no Location."},
	{anyAPIVersion, sectionArguments, "A request with an unknown api-version is served like one with a known api-version."},
	{anyGroupName, sectionArguments, "A resource group may have any name."},
}

// Breaks lists every deliberate break.
func Breaks() []Break { return slices.Clone(breakList[:]) }

// breaks is the set of rules that a provider breaks.
type breaks map[string]bool

func newBreaks(names []string) (breaks, error) {
	b := breaks{}
	for _, name := range names {
		known := func(k Break) bool { return k.Name == name }
		if !slices.ContainsFunc(breakList[:], known) {
			var all []string
			for i := range breakList {
				all = append(all, breakList[i].Name)
			}
			return nil, fmt.Errorf("unknown break %q (allowed: %s)", name, strings.Join(all, ", "))
		}
		b[name] = true
	}
	return b, nil
}

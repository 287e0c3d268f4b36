package contract

// Guideline is one of Microsoft's guidelines for resource providers, with the
// number of their public tools. Those tools judge a provider's specification;
// a case judges the provider's behaviour.
type Guideline struct {
	Number string // "RPC-Put-V1-11", or "RPC007" of the older series
	Name   string // the public linter's rule that checks it; "" if there is none
	URL    string // a public page with its text
}

// Pages on which guidelines are explained.
const (
	linterPages = "https://github.com/Azure/azure-openapi-validator/blob/main/docs/"
	reviewPage  = "https://github.com/Azure/azure-rest-api-specs/blob/main/.github/instructions/arm-api-review.instructions.md"
	seriesPage  = "https://azure.github.io/typespec-azure/docs/howtos/arm/rpc-guidelines-coverage"
)

// Guidelines returns all guidelines that a case checks.
func Guidelines() []Guideline {
	return []Guideline{
		{"RPC-Async-V1-01", "", reviewPage},
		{"RPC-Async-V1-03", "ProvisioningStateValidation", linterPages + "provisioning-state-validation.md"},
		{"RPC-Async-V1-08", "LroPatch202", linterPages + "lro-patch202.md"},
		{"RPC-Async-V1-09", "DeleteOperationResponses", linterPages + "delete-operation-responses.md"},
		{"RPC-Async-V1-11", "PostResponseCodes", linterPages + "post-response-codes.md"},
		{"RPC-Async-V1-16", "ProvisioningStateMustBeReadOnly", linterPages + "provisioning-state-must-be-read-only.md"},
		{"RPC-Delete-V1-01", "DeleteResponseCodes", linterPages + "delete-response-codes.md"},
		{"RPC-Get-V1-05", "TopLevelResourcesListBySubscription", linterPages + "top-level-resources-list-by-subscription.md"},
		{"RPC-Get-V1-10", "GetCollectionResponseSchema", linterPages + "get-collection-response-schema.md"},
		{"RPC-Patch-V1-02", "UnSupportedPatchProperties", linterPages + "un-supported-patch-properties.md"},
		{"RPC-Patch-V1-05", "", reviewPage},
		{"RPC-Patch-V1-07", "", reviewPage},
		{"RPC-Patch-V1-09", "PatchSkuProperty", linterPages + "patch-sku-property.md"},
		{"RPC-POST-V1-02", "PostResponseCodes", linterPages + "post-response-codes.md"},
		{"RPC-Put-V1-11", "PutResponseCodes", linterPages + "put-response-codes.md"},
		{"RPC-Put-V1-14", "LocationMustHaveXmsMutability", linterPages + "location-must-have-xms-mutability.md"},
		{"RPC-Put-V1-31", "TagsAreNotAllowedForProxyResources", linterPages + "tags-are-not-allowed-for-proxy-resources.md"},
		{"RPC-Uri-V1-08", "ApiVersionParameterRequired", linterPages + "api-version-parameter-required.md"},
		{"RPC007", "", seriesPage},
		{"RPC026", "", seriesPage},
		{"RPC027", "", seriesPage},
		{"RPC028", "", seriesPage},
	}
}

// heldGuidelines maps ids of cases to the guideline that each checks. A case
// is here only if every provider that breaks one breaks the other; most rules
// of the contract have no guideline.
var heldGuidelines = map[string]string{
	"202-delete/while-it-runs":                          "RPC-Async-V1-09",
	"202-patch/while-it-runs":                           "RPC-Async-V1-08",
	"202-post/while-it-runs":                            "RPC-Async-V1-11",
	"202/the-url-lies-in-one-of-the-contracts-places":   "RPC028",
	"action/answers":                                    "RPC-POST-V1-02",
	"arguments/api-version-is-required":                 "RPC-Uri-V1-08",
	"async-put/creates-in-a-state-that-is-not-terminal": "RPC-Async-V1-01",
	"async-put/ends-in-succeeded":                       "RPC-Async-V1-03",
	"async-put/updates-in-a-state-that-is-not-terminal": "RPC-Async-V1-01",
	"child/proxy-only-has-no-tags-and-no-location":      "RPC-Put-V1-31",
	"delete/200-then-204":                               "RPC-Delete-V1-01",
	"delete/of-what-never-was":                          "RPC-Delete-V1-01",
	"header/systemdata":                                 "RPC027",
	"list/of-a-subscription":                            "RPC-Get-V1-05",
	"list/of-what-it-hangs-on":                          "RPC-Get-V1-10",
	"patch/location-type-and-name-stay":                 "RPC-Patch-V1-02",
	"patch/of-what-is-not-there":                        "RPC-Patch-V1-07",
	"patch/properties-follow-merge-patch":               "RPC-Patch-V1-05",
	"patch/sku-alone":                                   "RPC-Patch-V1-09",
	"patch/tags-are-replaced-whole":                     "RPC007",
	"put/creates-with-201":                              "RPC-Put-V1-11",
	"put/location-never-changes":                        "RPC-Put-V1-14",
	"put/overwrites-with-200":                           "RPC-Put-V1-11",
	"state/a-differing-one-is-refused":                  "RPC-Async-V1-16",
	"state/a-matching-one-is-ignored":                   "RPC-Async-V1-16",
	"subscription/deleted":                              "RPC026",
	"subscription/notices-in-any-order":                 "RPC026",
	"subscription/while-registered":                     "RPC026",
	"subscription/while-suspended":                      "RPC026",
	"subscription/while-unregistered":                   "RPC026",
	"subscription/while-warned":                         "RPC026",
}

package gateway

import (
	"net/http"

	"portico/arm"
	"portico/regions"
	"portico/routing"
)

// createdForTag tells of a resource in a provider's internal subscription for
// which resource of a customer it was made.
const createdForTag = "resourceCreatedFor"

// checkCreatedFor holds writes into a provider's internal subscription to the
// tag that correlates them with the customer's resource (addendum, Correlating
// resources created on behalf of customer). A PATCH replaces all tags, so that
// one which sends tags has to send this one too.
func (g *Gateway) checkCreatedFor(q *routing.Request, body routing.Body) *arm.Error {
	if q.Class != routing.Instance || q.Type.Kind != regions.Tracked || !q.Type.Capabilities.Tags {
		return nil
	}
	replaces := q.Method == http.MethodPut || q.Method == http.MethodPatch && (body.HasTags || body.NullTags)
	if !replaces || g.router.Map.InternalTo(q.Path.Subscription()) == nil {
		return nil
	}
	reason := "The tag " + createdForTag + " is required in this subscription."
	for name, value := range body.Tags {
		if !arm.EqualFold(name, createdForTag) {
			continue
		}
		if arm.ValidResourceID(value) {
			return nil
		}
		reason = "The value of the tag " + createdForTag + " is not the fully qualified ID of a resource."
	}
	return arm.NewError(arm.RequestDisallowedByPolicy, q.Name(), reason).About("tags." + createdForTag)
}

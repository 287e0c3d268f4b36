package proxy

import (
	"context"
	"net/http"

	"portico/arm"
	"portico/gateway/exchange"
	"portico/regions"
	"portico/routing"
)

// ReadContent checks content where the front door understands it: a resource must be an
// object, with bounded tags if it is tracked; anything else may be any JSON.
func (p *Proxy) ReadContent(q *routing.Request, content []byte) (routing.Body, *arm.Error) {
	if len(content) == 0 {
		return routing.Body{}, nil
	}
	if q.ChecksName() {
		return routing.ReadNameCheck(content)
	}
	if q.Class != routing.Instance || q.Method != http.MethodPut && q.Method != http.MethodPatch {
		return routing.Body{}, routing.CheckJSON(content)
	}
	body, fault := routing.ReadObject(content)
	if fault != nil || !body.HasTags || q.Type == nil || q.Type.Kind != regions.Tracked {
		return body, fault
	}
	limit := p.Config.Limits.TagsPerResource
	if fault := body.CheckTagCount(limit); fault != nil {
		return body, fault
	}
	return body, arm.CheckTags(body.Tags, limit)
}

// checkArguments checks the common arguments, which a poll need not have. If the type
// lacks the api-version, the fault names the location: the content's, else the
// resource's.
func (p *Proxy) checkArguments(ctx context.Context, x *exchange.Exchange, location string) error {
	fault := x.Request.Check(p.Config.Map, location)
	if fault == nil {
		return nil
	}
	router := p.Resolver.Router
	if polls, err := router.FindOperation(ctx, x.Request, x.Principal); polls || err != nil {
		return err
	}
	if fault.Code == arm.NoRegisteredProviderFound && location == "" {
		fault = x.Request.Check(p.Config.Map, router.StoredLocation(ctx, x.Request, x.Principal))
	}
	return fault
}

// createdForTag is a tag of a resource in a provider's internal subscription. It names
// the customer's resource that the resource was made for.
const createdForTag = "resourceCreatedFor"

// checkCreatedFor requires createdForTag in writes to a provider's internal subscription
// (addendum, Correlating resources created on behalf of customer). A PATCH replaces all
// tags, so a PATCH with tags needs it too.
func (p *Proxy) checkCreatedFor(q *routing.Request, body routing.Body) *arm.Error {
	if q.Class != routing.Instance || q.Type.Kind != regions.Tracked || !q.Type.Capabilities.Tags {
		return nil
	}
	replaces := q.Method == http.MethodPut || q.Method == http.MethodPatch && (body.HasTags || body.NullTags)
	if !replaces || p.Config.Map.InternalProvider(q.Path.Subscription()) == nil {
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
	return arm.NewError(arm.RequestDisallowedByPolicy, q.Name(), reason).WithTarget("tags." + createdForTag)
}

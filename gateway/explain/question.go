package explain

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"portico/access"
	"portico/arm"
	"portico/config"
	"portico/gateway/admin/api"
	"portico/gateway/chain"
	"portico/gateway/exchange"
	"portico/internal/connections"
	"portico/internal/http1/server"
	"portico/inventory"
	"portico/routing"
)

// checkQuestion refuses a question that contradicts itself or is incomplete.
func checkQuestion(q *api.Question) *arm.Error {
	named := q.Principal != "" || q.Tenant != "" || len(q.Groups) > 0
	switch {
	case len(q.Raw) > 0 && (q.Method != "" || q.Path != "" || q.Content != "" || len(q.Header) > 0):
		return arm.NewError(arm.InvalidRequestContent, "the bytes of a request contain its method, path, headers and content: they cannot be "+
			"given separately").WithTarget("raw")
	case len(q.Raw) == 0 && q.Path == "":
		return arm.NewError(arm.InvalidRequestContent, "path is missing").WithTarget("path")
	case q.Token != "" && named:
		return arm.NewError(arm.InvalidRequestContent, "a token identifies the caller: principal, groups and tenant cannot be given with it").WithTarget("token")
	case len(q.Raw) > 0 && q.Principal == "" && named:
		return arm.NewError(arm.InvalidRequestContent, "groups and a tenant can be given only with a principal").WithTarget("principal")
	}
	return nil
}

// complete adds a method and an api-version to a question that names only a path.
func (e *Explainer) complete(q *api.Question) {
	if q.Method != "" {
		q.Method = strings.ToUpper(q.Method)
		return
	}
	q.Method = http.MethodGet
	if strings.Contains(q.Path, "?") {
		return
	}
	version := "2022-12-01" // Portico's own resources have no versions
	if r, fault := routing.Classify(e.Config.Map, q.Method, q.Path, ""); fault == nil && r.Type != nil {
		version = r.Type.APIVersions[0]
	}
	q.Path += "?api-version=" + version
}

// caller returns the assumed caller of a request, and how roles apply to it.
func (e *Explainer) caller(ctx context.Context, q api.Question, signsIn bool) (who access.Principal, roles string, err error) {
	for _, id := range append([]string{q.Principal, q.Tenant}, q.Groups...) {
		if id != "" && !arm.ValidGUID(id) {
			return who, "", arm.NewError(arm.InvalidRequestContent, "a principal, its tenant and its groups must be GUIDs").WithTarget("principal")
		}
	}
	if e.Config.Auth.Mode == config.AuthNone {
		if q.Principal != "" {
			return who, "", arm.NewError(arm.InvalidRequestContent, "without authentication there is only one caller: no other principal can be "+
				"given").WithTarget("principal")
		}
		who, _ = e.Authenticator.Authenticate(&http.Request{Header: http.Header{}})
		return who, api.RolesIgnored, nil
	}
	roles = api.RolesEnforced
	if !e.Config.Auth.RolesEnforced() {
		roles = api.RolesIgnored
	}
	if signsIn {
		return who, roles, nil
	}
	if q.Principal == "" {
		if roles == api.RolesEnforced {
			roles = api.RolesSkipped
		}
		return access.Principal{AnyTenant: q.Tenant == "", TenantID: arm.Fold(q.Tenant)}, roles, nil
	}
	who = e.configuredCaller(q.Principal)
	if len(q.Groups) > 0 {
		who.Groups = access.GroupsOf(q.Groups)
	}
	switch id := routing.SubscriptionOf(q.Path); {
	case q.Tenant != "":
		who.TenantID = arm.Fold(q.Tenant)
	case who.TenantID == "" && arm.ValidGUID(id):
		s, err := e.Store.Subscription(ctx, arm.Fold(id))
		if err != nil && !errors.Is(err, inventory.ErrNotFound) {
			return who, "", fmt.Errorf("read a subscription: %w", err)
		}
		who.TenantID = s.TenantID
	}
	return who, roles, nil
}

// configuredCaller returns the principal with an object ID, with its attributes if the
// configuration has it.
func (e *Explainer) configuredCaller(object string) access.Principal {
	for _, t := range e.Config.Auth.Tokens {
		if arm.EqualFold(t.ObjectID, object) {
			return access.Principal{TenantID: t.TenantID, ObjectID: t.ObjectID, Name: t.Name, AppID: t.AppID}
		}
	}
	for _, p := range e.Config.Auth.Certificates.Principals {
		if arm.EqualFold(p.ObjectID, object) {
			return access.Principal{TenantID: p.TenantID, ObjectID: p.ObjectID, Name: p.Name, AppID: p.AppID}
		}
	}
	return access.Principal{ObjectID: arm.Fold(object)}
}

// addToken sets the request's bearer token. If token is "", the request keeps its own
// credentials.
func (a *Request) addToken(token string) *arm.Error {
	if token == "" {
		return nil
	}
	if strings.ContainsFunc(token, func(c rune) bool { return c <= ' ' || c > '~' }) {
		return arm.NewError(arm.InvalidRequestContent, "a token must be one word of visible ASCII characters").WithTarget("token")
	}
	a.Header["Authorization"] = []string{"Bearer " + token}
	return nil
}

// readRaw reads the bytes of a request as the public listener does. If no handler would see
// the request, it returns the explanation instead.
func (e *Explainer) readRaw(ctx context.Context, sent []byte) (r *http.Request, explained *api.Explanation) {
	r, err := server.ReadRequest(ctx, sent, chain.HeadBytes)
	if err == nil {
		r.RemoteAddr = exchange.NoAddress
		return r, nil
	}
	var explanation api.Explanation
	if refusal, ok := errors.AsType[*connections.Refusal](err); ok {
		explanation = Refused(refusal)
	} else {
		explanation = Unended()
	}
	return nil, &explanation
}

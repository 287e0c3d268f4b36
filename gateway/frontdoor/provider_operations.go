package frontdoor

import (
	"net/http"

	"portico/arm"
	"portico/gateway/exchange"
	"portico/gateway/frontdoor/route"
	"portico/regions"
)

const providerOperationsType = "Microsoft.Authorization/providerOperations"

// providerOperations lists the actions that roles can name, by namespace and type:
// actions on Portico's own types, and reads, writes and deletes of the map's types. The
// map does not know further actions of a provider's resources.
type providerOperations struct{ regions *regions.Map }

// Routes implements Resource.
func (g providerOperations) Routes() []route.Route {
	const all = "/providers/microsoft.authorization/provideroperations"
	return []route.Route{
		{Method: http.MethodGet, Path: all, Open: "what roles can allow is no secret", Handle: g.list},
		{Method: http.MethodGet, Path: all + "/{ns}", Open: "what roles can allow is no secret", Handle: g.get},
	}
}

// operationsBody is a namespace with the actions that roles can allow in it.
type operationsBody struct {
	ID            string           `json:"id"`
	Name          string           `json:"name"`
	Type          string           `json:"type"`
	DisplayName   string           `json:"displayName"`
	ResourceTypes []typeOperations `json:"resourceTypes"`
	Operations    []roleOperation  `json:"operations"`
}

type typeOperations struct {
	Name        string          `json:"name"`
	DisplayName string          `json:"displayName"`
	Operations  []roleOperation `json:"operations"`
}

type roleOperation struct {
	Name         string  `json:"name"`
	DisplayName  string  `json:"displayName"`
	Description  string  `json:"description"`
	Origin       string  `json:"origin"`
	Properties   *string `json:"properties"` // always null, as in ARM
	IsDataAction bool    `json:"isDataAction"`
}

func (a typeActions) roleOperations() (all []roleOperation) {
	for _, verb := range a.verbs {
		o := a.operation(verb)
		all = append(all, roleOperation{Name: o.Name, DisplayName: o.Display.Operation, Description: o.Display.Description, Origin: o.Origin})
	}
	return all
}

// namespaces returns the namespaces, the map's first.
func (g providerOperations) namespaces() (all []*operationsBody) {
	of := func(namespace string) *operationsBody {
		for _, body := range all {
			if arm.EqualFold(body.Name, namespace) {
				return body
			}
		}
		body := &operationsBody{
			ID: "/providers/" + providerOperationsType + "/" + namespace, Name: namespace, Type: providerOperationsType,
			DisplayName: namespace, ResourceTypes: []typeOperations{}, Operations: []roleOperation{},
		}
		all = append(all, body)
		return body
	}
	add := func(a typeActions) {
		body := of(a.namespace)
		body.ResourceTypes = append(body.ResourceTypes, typeOperations{a.typeName, a.label, a.roleOperations()})
	}
	for _, p := range g.regions.Providers() {
		body := of(p.Namespace)
		body.Operations = append(body.Operations,
			typeActions{p.Namespace, "", "resource provider", []string{"register/action", "unregister/action"}}.roleOperations()...)
		for _, t := range p.Types() {
			add(typeActions{p.Namespace, t.Name, t.Name, writes})
		}
	}
	for _, a := range frontDoorActions() {
		add(a)
	}
	return all
}

func (g providerOperations) list(w http.ResponseWriter, _ *http.Request, x *exchange.Exchange, _ route.Request) error {
	return x.Answer(w, http.StatusOK, exchange.ListOf(g.namespaces(), func(body *operationsBody) *operationsBody { return body }))
}

func (g providerOperations) get(w http.ResponseWriter, _ *http.Request, x *exchange.Exchange, _ route.Request) error {
	namespace := x.Request.Path.LastHop().Segment(1)
	for _, body := range g.namespaces() {
		if arm.EqualFold(body.Name, namespace) {
			return x.Answer(w, http.StatusOK, body)
		}
	}
	return arm.NewError(arm.InvalidResourceNamespace, namespace).WithTarget("resourceProviderNamespace")
}

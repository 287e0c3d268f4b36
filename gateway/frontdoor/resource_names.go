package frontdoor

import (
	"net/http"

	"portico/arm"
	"portico/gateway/exchange"
	"portico/gateway/frontdoor/route"
)

// resourceNames checks names before a resource is created.
type resourceNames struct{}

// Routes implements Resource.
func (g resourceNames) Routes() []route.Route {
	const check = "/providers/microsoft.resources/checkresourcename"
	return []route.Route{
		{Method: http.MethodPost, Path: "/subscriptions/{s}" + check, Action: "Microsoft.Resources/checkResourceName/action", Partly: true, Handle: g.check},
		{Method: http.MethodPost, Path: check, Open: "it checks a word, and reads nothing", Handle: g.check},
	}
}

// longestTypeName is the longest type that a name is checked for.
const longestTypeName = 1024

// check reports whether a name is one of the reserved words.
func (resourceNames) check(w http.ResponseWriter, _ *http.Request, x *exchange.Exchange, req route.Request) error {
	var requested struct {
		Name string `json:"name"`
		Type string `json:"type"`
	}
	if fault := exchange.ReadJSON(req.Content, &requested); fault != nil {
		return fault
	}
	for _, m := range []struct{ member, value string }{{"name", requested.Name}, {"type", requested.Type}} {
		if m.value == "" {
			return arm.NewError(arm.InvalidRequestContent, "The "+m.member+" is required. Path '"+m.member+"'").WithTarget(m.member)
		}
	}
	if len(requested.Type) > longestTypeName {
		return route.TooLong("type", len(requested.Type), longestTypeName)
	}
	if fault := arm.CheckResourceName(requested.Name); fault != nil {
		return fault.WithTarget("name")
	}
	status := "Allowed"
	if arm.ReservedName(requested.Name) {
		status = "Reserved"
	}
	return x.Answer(w, http.StatusOK, map[string]string{"name": requested.Name, "type": requested.Type, "status": status})
}

package gateway

import (
	"net/http"

	"portico/arm"
	"portico/gateway/exchange"
)

// longestTypeName is the longest type of which a name is checked.
const longestTypeName = 1024

// checkResourceName tells whether a name is one of the reserved words.
func (g *Gateway) checkResourceName(w http.ResponseWriter, _ *http.Request, x *exchange.Exchange, c ownCall) error {
	var asked struct {
		Name string `json:"name"`
		Type string `json:"type"`
	}
	if fault := exchange.ReadJSON(c.content, &asked); fault != nil {
		return fault
	}
	for _, m := range []struct{ member, value string }{{"name", asked.Name}, {"type", asked.Type}} {
		if m.value == "" {
			return arm.NewError(arm.InvalidRequestContent, "The "+m.member+" is required. Path '"+m.member+"'").About(m.member)
		}
	}
	if len(asked.Type) > longestTypeName {
		return overlong("type", len(asked.Type), longestTypeName)
	}
	if fault := arm.CheckResourceName(asked.Name); fault != nil {
		return fault.About("name")
	}
	status := "Allowed"
	if arm.ReservedName(asked.Name) {
		status = "Reserved"
	}
	return x.Answer(w, http.StatusOK, map[string]string{"name": asked.Name, "type": asked.Type, "status": status})
}

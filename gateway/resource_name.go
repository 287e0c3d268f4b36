package gateway

import (
	"net/http"

	"portico/arm"
)

// checkResourceName tells whether a name is one of the reserved words.
func (g *Gateway) checkResourceName(w http.ResponseWriter, _ *http.Request, x *exchange, c ownCall) error {
	var asked struct {
		Name string `json:"name"`
		Type string `json:"type"`
	}
	if fault := readJSON(c.content, &asked); fault != nil {
		return fault
	}
	for _, m := range []struct{ member, value string }{{"name", asked.Name}, {"type", asked.Type}} {
		if m.value == "" {
			return arm.NewError(arm.InvalidRequestContent, "The "+m.member+" is required. Path '"+m.member+"'").About(m.member)
		}
	}
	if fault := arm.CheckResourceName(asked.Name); fault != nil {
		return fault.About("name")
	}
	status := "Allowed"
	if arm.ReservedName(asked.Name) {
		status = "Reserved"
	}
	return g.answer(w, x, http.StatusOK, map[string]string{"name": asked.Name, "type": asked.Type, "status": status})
}

package authorize

import (
	"portico/access/roles"
	"portico/gateway/exchange"
)

// What allowed a request, in the audit log, where no role assignment did.
const (
	byOwners = "auth.owners"
	denied   = "denied"
)

// note notes what a request asked for first, and what allowed that, for the logs. A
// later question counts if it was refused.
func note(x *exchange.Exchange, action string, grant roles.Grant, err error) {
	switch {
	case err != nil:
		x.Action, x.AllowedBy = action, denied
	case x.Action == "":
		x.Action, x.AllowedBy = action, grant.Assignment
		if grant.Role != nil && grant.Assignment == "" {
			x.AllowedBy = byOwners
		}
	}
}

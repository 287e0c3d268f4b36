package route

import (
	"fmt"

	"portico/arm"
)

// Names are what a resource is called. Clients may send back what a GET showed them.
type Names struct{ ID, Name, Type string }

// Check refuses the first name that differs from the one that follows from the URL,
// without regard to case.
func (n Names) Check(want Names) *arm.Error {
	for _, m := range [...]struct{ member, got, want string }{{"id", n.ID, want.ID}, {"name", n.Name, want.Name}, {"type", n.Type, want.Type}} {
		if m.got != "" && !arm.EqualFold(m.got, m.want) {
			return arm.NewError(arm.InvalidRequestContent, "The member '"+m.member+"' is not that of the request URI. Path '"+m.member+"'").About(m.member)
		}
	}
	return nil
}

// TooLong refuses a member of n bytes.
func TooLong(member string, n, most int) *arm.Error {
	return arm.NewError(arm.InvalidRequestContent, fmt.Sprintf("The %s has %d bytes, and may have %d. Path '%[1]s'", member, n, most)).About(member)
}

package gateway

import (
	"fmt"

	"portico/arm"
)

// echoed is a member that only the service sets. It may come back from a GET,
// and has to be what the URL says.
type echoed struct{ member, got, want string }

// matchURL refuses the first member that is another than the URL's, without
// regard to case.
func matchURL(members ...echoed) *arm.Error {
	for _, m := range members {
		if m.got != "" && !arm.EqualFold(m.got, m.want) {
			return arm.NewError(arm.InvalidRequestContent, "The member '"+m.member+"' is not that of the request URI. Path '"+m.member+"'").About(m.member)
		}
	}
	return nil
}

// overlong refuses a member of which there are n bytes.
func overlong(member string, n, most int) *arm.Error {
	return arm.NewError(arm.InvalidRequestContent, fmt.Sprintf("The %s has %d bytes, and may have %d. Path '%[1]s'", member, n, most)).About(member)
}

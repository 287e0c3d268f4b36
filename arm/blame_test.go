package arm

import "testing"

func TestBlame(t *testing.T) {
	t.Parallel()
	byRegions := func(e *Error, details ...Error) *Error {
		e.Regions, e.Details = []string{"eastus"}, details
		return e
	}
	for want, all := range map[string][]*Error{
		BlamePortico:     {NewError(InternalServerError, "", "", "", ""), NewError(ServerTimeout, "", "", "", ""), NewError(ServerBusy, "x"), NewError(ServiceUnavailable, "x")},
		BlameUnreachable: {Unreachable("A.B", "eastus"), NewError(GatewayTimeout, "A.B"), byRegions(NewError(ServiceUnavailable, ""), Error{Code: "Boom"}, Error{Code: BadGatewayConnection}), byRegions(NewError(Conflict), Error{Code: GatewayTimeout})},
		BlameProvider:    {NewError(InvalidProviderResponse, "A.B", "x"), NewError(ResponseTooLarge, "A.B", "1 MiB"), byRegions(NewError(ServiceUnavailable, ""), Error{Code: "Boom"}), byRegions((&Error{Status: 500}).Shown("InternalServerError", "x")), NewError(ResourceGroupDeletionBlocked, "g", "r", "t")},
		BlameCaller:      {NewError(ResourceGroupNotFound, "g"), NewError(Conflict), NewError(NotImplemented), NewError(ClientClosedRequest), byRegions(NewError(InvalidQueryParameter, "x", "y"))},
	} {
		for _, e := range all {
			if got := e.Blame(); got != want {
				t.Errorf("%v: %s, want %s", e, got, want)
			}
		}
	}
}

package observe

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"portico/access"
	"portico/arm"
	"portico/gateway/exchange"
)

// The sentence that is kept of an error has no credential and no name of its caller, and is
// bounded.
func TestSentenceOfAnError(t *testing.T) {
	t.Parallel()
	const id = "00000000-0000-0000-0000-00000000000a"
	for _, c := range []struct{ sent, kept string }{
		{"The client 'ann@example' with object id '" + id + "' may not.", "The client '" + id + "' with object id '" + id + "' may not."},
		{"It wants ?sig=abcdefghijklmnop.", "It wants ?sig=REDACTED"},
		{strings.Repeat("x ", 1000), strings.Repeat("x ", longestMessage/2) + "…"},
	} {
		r := NewRecent(nil, "replica")
		x := &exchange.Exchange{Cause: exchange.CauseService, Shown: &arm.Error{Message: c.sent}, Principal: access.Principal{Name: "ann@example", ObjectID: id}}
		r.add(&served{Exchange: x, recorder: recorder{status: http.StatusInternalServerError}})
		x.Shown = nil
		r.add(&served{Exchange: x, recorder: recorder{status: http.StatusInternalServerError}})
		x.Cause, x.Failure = "", errors.New("broken")
		r.add(&served{Exchange: x, recorder: recorder{status: http.StatusInternalServerError}})
		all := r.Answers()
		if all[2].Message != c.kept || all[2].Blame != arm.BlameProvider || all[1].Message != "" || all[1].Blame != arm.BlameProvider || all[0].Blame != arm.BlamePortico {
			t.Errorf("%+v", all)
		}
	}
}

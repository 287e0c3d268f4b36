package deploy

import (
	"net/http"
	"testing"

	deletion "portico/jobs/deletion/deletionplan"
	"portico/jobs/deploy/secret"
	"portico/tracing"
)

// The answer to a DELETE means the same as in the deletion of a group, but for the throttle
// of the deployment's caller.
func TestAnswersToRemovals(t *testing.T) {
	t.Parallel()
	const (
		page   = "<!DOCTYPE html>"
		absent = `{"error":{"code":"ResourceNotFound","message":"m"}}`
		other  = `{"error":{"code":"ResourceGroupNotFound","message":"m"}}`
	)
	for _, c := range []struct {
		status int
		body   string
		want   deletion.Outcome
	}{
		{200, "", deletion.OutcomeGone}, {200, "{}", deletion.OutcomeGone}, {204, "", deletion.OutcomeGone}, {202, "", deletion.OutcomeAccepted},
		{200, page, deletion.OutcomeTransient}, {404, page, deletion.OutcomeTransient}, {404, other, deletion.OutcomeTransient}, {404, absent, deletion.OutcomeGone},
		{408, "", deletion.OutcomeTransient}, {429, "", deletion.OutcomeTransient}, {500, "", deletion.OutcomeTransient},
		{502, "", deletion.OutcomeUnreachable}, {503, page, deletion.OutcomeUnreachable}, {504, absent, deletion.OutcomeUnreachable},
		{400, "", deletion.OutcomeRefused}, {403, "", deletion.OutcomeRefused}, {409, "", deletion.OutcomeRefused},
	} {
		r := removal{stepRecord: stepRecord{Target: &Reference{ID: "/subscriptions/s/resourceGroups/g/providers/N.S/things/m"}}}
		if got := r.onDeleteResponse(Response{Status: c.status, Header: http.Header{}, Body: []byte(c.body)}, secret.Secrets{}); got.Outcome != c.want {
			t.Errorf("%d %s: %v, want %v", c.status, c.body, got.Outcome, c.want)
		}
	}
	r := removal{stepRecord: stepRecord{Target: &Reference{}}}
	if got := r.onDeleteResponse(Response{Status: 429, Header: http.Header{tracing.FailureCauseHeader: {"gateway"}}}, secret.Secrets{}); got.Outcome != deletion.OutcomeUnsent {
		t.Errorf("the caller's throttle: %v", got.Outcome)
	}
}

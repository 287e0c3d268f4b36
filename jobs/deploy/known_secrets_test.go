package deploy

import (
	"context"
	"strings"
	"testing"
	"time"

	"portico/arm"
	"portico/events"
	"portico/template"
	"portico/template/expr"
)

// An attempt that has not had the answers of an earlier one hides the secrets that its steps have
// recorded; where one was too long for that, it shows errors by their codes alone.
func TestSecretsOfAnEarlierAttempt(t *testing.T) {
	t.Parallel()
	answer := expr.PendingOf(expr.Invoke("listKeys"))
	resource := &template.Resource{ID: "/a", Body: answer, Condition: expr.BoolOf(true)}
	said := &arm.Error{Status: 409, Code: "Quoted", Message: "it is long-key, and short"}
	for key, want := range map[string]string{"long-key": "it is *******, and short", strings.Repeat("long-key", recordedSecrets/8+1): ""} {
		var earlier known
		earlier.hide("sent /a", expr.StringOf(key).AsSecure(), expr.StringOf("shown"))
		var later known
		later.addRecorded(0, &step{resource: resource}, &stepRecord{Began: time.Unix(1, 0), Secrets: earlier.recordable("/a")})
		if got := later.mask(said); got.Code != "Quoted" || got.Status != 409 || want != "" && got.Message != want || want == "" && strings.Contains(got.Message, "long-key") {
			t.Errorf("%.20s: %+v", key, got)
		}
	}
	var k known
	if k.addRecorded(0, &step{resource: resource}, &stepRecord{}); k.mask(said).Message != said.Message {
		t.Error("a step that was not sent hides an error")
	}
}

// The requests of a deployment without secrets leave their errors as they are.
func TestRequestsWithoutSecretsAreNotMasked(t *testing.T) {
	t.Parallel()
	var k known
	masked := false
	send := k.masked(func(ctx context.Context, _ Call) (Response, error) {
		masked = events.HasMask(ctx)
		return Response{}, nil
	})
	if _, _ = send(t.Context(), Call{}); masked {
		t.Error("masked")
	}
	k.hide("x", expr.StringOf("plain"), expr.StringOf("hidden").AsSecure())
	if _, _ = send(t.Context(), Call{}); !masked {
		t.Error("not masked")
	}
}

package operations

import (
	"context"
	"net/http"
	"strings"

	"portico/inventory"
	"portico/jsonscan"
	"portico/upstream"
)

// tellFailure keeps what a provider said of an accepted delete that failed, for
// whoever deletes the group. Nothing depends on it.
func (f *Following) tellFailure(ctx context.Context, follow inventory.Follow, answer upstream.Answer, row inventory.Resource) {
	if follow.Kind != inventory.Delete {
		return
	}
	if text := failureText(follow, answer); text != "" {
		_ = f.Asker.Store.TellDeletion(ctx, row.Subscription, row.Group, row.Key, text)
	}
}

// failureText is the error in the last poll of an operation, empty where it did
// not fail (async reference, Azure-AsyncOperation Resource format).
func failureText(follow inventory.Follow, answer upstream.Answer) string {
	if !follow.Status {
		if answer.Status < http.StatusBadRequest || answer.Status == http.StatusNotFound || answer.Status == http.StatusGone {
			return ""
		}
		return textOf(answer.Status, answer.Body)
	}
	state := strings.ToLower(PollState(answer.Body))
	if answer.Status != http.StatusOK || state != "failed" && state != "canceled" && state != "cancelled" {
		return ""
	}
	fault := ""
	_ = jsonscan.Object(answer.Body, func(m jsonscan.Member) error {
		if string(m.Key) == "error" {
			fault = `{"error":` + string(m.Value) + `}`
		}
		return nil
	})
	if fault == "" {
		return errorText("OperationFailed", "The operation ended as "+word(PollState(answer.Body))+".")
	}
	return textOf(answer.Status, []byte(fault))
}

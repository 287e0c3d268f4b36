package async

import (
	"net/http"
	"slices"
	"strings"

	"portico/internal/jsonscan"
	"portico/operations/failure"
	"portico/upstream"
)

// Failure is the error in the last poll of an operation, empty where it did not
// fail (async reference, Azure-AsyncOperation Resource format). ofStatus is as in
// [Read].
func Failure(ofStatus bool, answer upstream.Answer) string {
	if !ofStatus {
		if answer.Status < http.StatusBadRequest || answer.Status == http.StatusNotFound || answer.Status == http.StatusGone {
			return ""
		}
		return failure.OfAnswer(answer.Status, answer.Body)
	}
	state := strings.ToLower(State(answer.Body))
	if answer.Status != http.StatusOK || state != "failed" && state != "canceled" && state != "cancelled" {
		return ""
	}
	fault := jsonscan.Value(answer.Body, "error")
	if fault == nil {
		return failure.Text("OperationFailed", "The operation ended as "+StateWord(answer.Body)+".")
	}
	return failure.OfAnswer(answer.Status, slices.Concat([]byte(`{"error":`), fault, []byte{'}'}))
}

// StateWord is the state in a poll's body if it is one word, which is all that a
// state can be.
func StateWord(text []byte) string {
	state := State(text)
	if len(state) > 40 {
		return ""
	}
	for _, c := range state {
		if (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') {
			return ""
		}
	}
	return state
}

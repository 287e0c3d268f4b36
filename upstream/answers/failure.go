package answers

import (
	"encoding/json"
	"net/http"
	"strings"

	"portico/arm"
)

// answerBytes bounds the stored part of a provider's answer.
const answerBytes = 4 << 10

// FaultText returns an error of Portico's own as the text of an answer.
func FaultText(code arm.Code, message string) string {
	return string((&arm.Error{Code: code, Message: message}).Body())
}

// Text returns the part of a provider's answer to store, or a sentence that
// it gave no reason.
func Text(status int, body []byte) string {
	text := strings.TrimSpace(strings.ToValidUTF8(string(body), "\uFFFD"))
	if text == "" {
		return FaultText(arm.InvalidProviderResponse, "The provider answered "+http.StatusText(status)+".")
	}
	return Cut(text, answerBytes)
}

// Error returns the complete error in a provider's answer, nil if it has none
// in ARM's form.
func Error(status int, text string) *arm.Error {
	fault := arm.ReadError([]byte(strings.ToValidUTF8(text, "\uFFFD")))
	if fault != nil {
		fault.Status = status
	}
	return fault
}

// FaultBody returns the error of an operation for clients.
func FaultBody(fault *arm.Error, details []Detail) json.RawMessage {
	type body struct {
		Code    arm.Code `json:"code"`
		Message string   `json:"message"`
		Details []Detail `json:"details,omitempty"`
	}
	text, err := json.Marshal(body{fault.Code, fault.Message, details})
	if err != nil { // strings always have a JSON form
		return nil
	}
	return text
}

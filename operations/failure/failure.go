// Package failure writes down why an operation of Portico's own failed: what
// providers answered, as text that is kept, and the error that a client gets, with
// one detail for each resource. Its values are bounded, as providers may say
// anything at any length.
package failure

import (
	"encoding/json"
	"net/http"
	"strings"

	"portico/arm"
)

// answerBytes bounds what is kept of a provider's answer.
const answerBytes = 4 << 10

// Text is an error in ARM's envelope.
func Text(code arm.Code, message string) string {
	text, err := json.Marshal(map[string]any{"error": map[string]string{"code": string(code), "message": message}})
	if err != nil { // strings always have a JSON form
		return "{}"
	}
	return string(text)
}

// OfAnswer is what a provider answered, or that it gave no reason.
func OfAnswer(status int, body []byte) string {
	text := strings.TrimSpace(strings.ToValidUTF8(string(body), "\uFFFD"))
	if text == "" {
		return Text(arm.InvalidProviderResponse, "The provider answered "+http.StatusText(status)+".")
	}
	return Cut(text, answerBytes)
}

// Error is the error that a provider's answer holds, nil where it has none in ARM's form.
func Error(status int, text string) *arm.Error {
	code, message := errorIn(Cut(text, answerBytes))
	if code == "" && message == "" {
		return nil
	}
	return (&arm.Error{Status: status}).Shown(code, message)
}

// Body is the error that an operation ended with, as clients get it.
func Body(fault *arm.Error, details []Detail) json.RawMessage {
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

// ShortName is an ID without the group that it lies in: it begins with the
// namespace.
func ShortName(id string) string {
	var p arm.Path
	if p.Parse(id) != nil || p.Hops() == 0 || p.Hop(0).Namespace() == "" {
		return id
	}
	return p.String()[len(p.Prefix(p.Hop(0).Start()+1))+1:]
}

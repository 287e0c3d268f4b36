package api

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"time"
)

// UnreachableError is the error of a call that got no answer.
type UnreachableError struct {
	URL string // of the listener
	Err error
}

func (e *UnreachableError) Error() string {
	return fmt.Sprintf("no answer from %s: %v", e.URL, e.Err)
}

// Unwrap returns the cause.
func (e *UnreachableError) Unwrap() error { return e.Err }

// Refusal is an error answer of the listener.
type Refusal struct {
	Status        int
	Code, Message string
	Details       []RefusalDetail
	// RetryAfter is the time to wait before another try; 0 if the listener gave none.
	RetryAfter time.Duration
}

// RefusalDetail is a part of a refusal.
type RefusalDetail struct {
	Message string `json:"message"`
	Target  string `json:"target"`
}

func (r *Refusal) Error() string {
	return fmt.Sprintf("the admin listener answers %d, %s: %s", r.Status, r.Code, r.Message)
}

// NotAdminError is the error of a call that was answered by something other than an admin
// listener.
type NotAdminError struct {
	URL    string
	Status int
	// Public: it is the public listener of a gateway.
	Public bool
}

func (e *NotAdminError) Error() string {
	if e.Public {
		return fmt.Sprintf("%s is the public listener of a gateway, not its admin listener", e.URL)
	}
	return fmt.Sprintf("%s is not an admin listener: it answered with status %d", e.URL, e.Status)
}

// publicListenerHeader is in each answer of a public listener, and in none of an admin
// listener.
const publicListenerHeader = "X-Ms-Routing-Request-Id"

func (c *Client) refusal(response *http.Response, text []byte) error {
	if response.Header.Get(publicListenerHeader) != "" {
		return &NotAdminError{URL: c.base, Status: response.StatusCode, Public: true}
	}
	var sent struct {
		Error struct {
			Code    string          `json:"code"`
			Message string          `json:"message"`
			Details []RefusalDetail `json:"details"`
		} `json:"error"`
	}
	if json.Unmarshal(text, &sent) != nil || sent.Error.Code == "" {
		return &NotAdminError{URL: c.base, Status: response.StatusCode}
	}
	r := &Refusal{Status: response.StatusCode, Code: sent.Error.Code, Message: sent.Error.Message, Details: sent.Error.Details}
	if seconds, err := strconv.Atoi(response.Header.Get("Retry-After")); err == nil && seconds > 0 {
		r.RetryAfter = time.Duration(seconds) * time.Second
	}
	return r
}

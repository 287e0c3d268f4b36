package answers

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"testing"
	"time"

	"portico/access"
	"portico/arm"
	"portico/inventory"
	"portico/inventory/index"
	"portico/upstream"
)

// What came back for a write, and what the index learns from it (see package inventory,
// rules R3 to R5).
func TestWrites(t *testing.T) {
	const (
		id     = "/subscriptions/s/resourceGroups/g/providers/Contoso.Compute/virtualMachines/m"
		absent = `{"error":{"code":"ResourceNotFound","message":"The resource m was not found."}}`
		other  = `{"error":{"code":"ResourceGroupNotFound","message":"The group g was not found."}}`
		inUse  = `{"error":{"code":"InUse","message":"It is in use."}}`
		body   = `{"properties":{"provisioningState":"Creating"},"tags":{"a":"b"}}`
	)
	unsent, sent := &upstream.Fault{Err: context.DeadlineExceeded}, &upstream.Fault{Sent: true, Err: io.ErrUnexpectedEOF}
	operation := http.Header{"Azure-Asyncoperation": {"http://127.0.0.1:7/operations/1?x=y"}, "Retry-After": {"7"}}
	result := http.Header{"Location": {"/results/1"}}
	poll := &inventory.Poll{Path: "/operations/1", Query: "x=y", RetryAfter: 7 * time.Second, Status: true, TenantID: "t", ObjectID: "o"}
	resultPoll := &inventory.Poll{Path: "/results/1", TenantID: "t", ObjectID: "o"}
	details := &inventory.Details{Tags: map[string]string{"a": "b"}}
	refusal := func(status int, code arm.Code, message string) *arm.Error {
		return &arm.Error{Status: status, Code: code, Message: message}
	}
	for name, c := range map[string]struct {
		kind index.WriteKind
		got  upstream.Answer
		err  error
		want inventory.WriteResult
	}{
		"a create":                      {index.Put, upstream.Answer{Status: 201, Body: []byte(body)}, nil, inventory.WriteResult{Outcome: index.Succeeded, ProvisioningState: "Creating", Details: details}},
		"a create that goes on":         {index.Put, upstream.Answer{Status: 201, Header: operation, Body: []byte(body)}, nil, inventory.WriteResult{Outcome: index.Succeeded, ProvisioningState: "Creating", Details: details, Poll: poll}},
		"a create of another place":     {index.Put, upstream.Answer{Status: 201, Header: result, Body: []byte(body)}, nil, inventory.WriteResult{Outcome: index.Succeeded, ProvisioningState: "Creating", Details: details}},
		"a create without a body":       {index.Put, upstream.Answer{Status: 200}, nil, inventory.WriteResult{Outcome: index.Accepted}},
		"a create without content":      {index.Put, upstream.Answer{Status: 204}, nil, inventory.WriteResult{Outcome: index.Accepted}},
		"a create with a page":          {index.Put, upstream.Answer{Status: 201, Body: []byte("<html>")}, nil, inventory.WriteResult{Outcome: index.Accepted}},
		"a create with a list":          {index.Put, upstream.Answer{Status: 201, Body: []byte("[" + body + "]")}, nil, inventory.WriteResult{Outcome: index.Accepted}},
		"a create with null":            {index.Put, upstream.Answer{Status: 201, Body: []byte("null")}, nil, inventory.WriteResult{Outcome: index.Accepted}},
		"half of a create that goes on": {index.Put, upstream.Answer{Status: 201, Header: operation, Body: []byte(body[:20])}, nil, inventory.WriteResult{Outcome: index.Accepted, Poll: poll}},
		"a create without tags":         {index.Put, upstream.Answer{Status: 201, Body: []byte("{}")}, nil, inventory.WriteResult{Outcome: index.Succeeded, Details: &inventory.Details{}}},
		"an accepted create":            {index.Put, upstream.Answer{Status: 202, Header: result}, nil, inventory.WriteResult{Outcome: index.Accepted, Poll: resultPoll}},
		"a refused create":              {index.Put, upstream.Answer{Status: 409, Body: []byte(inUse)}, nil, inventory.WriteResult{Outcome: index.Refused, Error: refusal(409, "InUse", "It is in use.")}},
		"a refusal without a reason":    {index.Put, upstream.Answer{Status: 400}, nil, inventory.WriteResult{Outcome: index.Refused}},
		"a throttled create":            {index.Put, upstream.Answer{Status: 429, Body: []byte(inUse)}, nil, inventory.WriteResult{Outcome: index.Refused, Error: refusal(429, "InUse", "It is in use.")}},
		"a failed create":               {index.Put, upstream.Answer{Status: 500, Body: []byte(inUse)}, nil, inventory.WriteResult{Outcome: index.Ambiguous, Error: refusal(500, "InUse", "It is in use.")}},
		"a create that took too long":   {index.Put, upstream.Answer{Status: 408}, nil, inventory.WriteResult{Outcome: index.Ambiguous}},
		"a create that was not sent":    {index.Put, upstream.Answer{}, unsent, inventory.WriteResult{Outcome: index.NotSent}},
		"a create without an answer":    {index.Put, upstream.Answer{}, sent, inventory.WriteResult{Outcome: index.Ambiguous}},
		"a create with another failure": {index.Put, upstream.Answer{}, errors.New("what"), inventory.WriteResult{Outcome: index.Ambiguous}},
		// The status may not be true, but the operation may be followed.
		"a create whose answer breaks off":     {index.Put, upstream.Answer{Status: 201, Header: operation}, io.ErrUnexpectedEOF, inventory.WriteResult{Outcome: index.Ambiguous, Poll: poll}},
		"a refusal that breaks off":            {index.Put, upstream.Answer{Status: 409}, io.ErrUnexpectedEOF, inventory.WriteResult{Outcome: index.Ambiguous}},
		"a create whose answer is too large":   {index.Put, upstream.Answer{Status: 201}, upstream.ErrTooLarge, inventory.WriteResult{Outcome: index.Accepted}},
		"a PATCH":                              {index.Patch, upstream.Answer{Status: 200, Body: []byte(body)}, nil, inventory.WriteResult{Outcome: index.Succeeded, ProvisioningState: "Creating", Details: details}},
		"a PATCH whose answer is too large":    {index.Patch, upstream.Answer{Status: 200}, upstream.ErrTooLarge, inventory.WriteResult{Outcome: index.Accepted}},
		"a PATCH whose answer shows nothing":   {index.Patch, upstream.Answer{Status: 200}, nil, inventory.WriteResult{Outcome: index.Accepted}},
		"a PATCH of what is not there":         {index.Patch, upstream.Answer{Status: 404, Body: []byte(absent)}, nil, inventory.WriteResult{Outcome: index.Refused, Error: refusal(404, "ResourceNotFound", "The resource m was not found.")}},
		"a DELETE":                             {index.Delete, upstream.Answer{Status: 204}, nil, inventory.WriteResult{Outcome: index.Gone}},
		"a DELETE with a page":                 {index.Delete, upstream.Answer{Status: 200, Body: []byte("<html>")}, nil, inventory.WriteResult{Outcome: index.Ambiguous}},
		"a DELETE with half of an answer":      {index.Delete, upstream.Answer{Status: 200, Body: []byte(body[:20])}, nil, inventory.WriteResult{Outcome: index.Ambiguous}},
		"a DELETE that shows what it removed":  {index.Delete, upstream.Answer{Status: 200, Body: []byte(body)}, nil, inventory.WriteResult{Outcome: index.Gone}},
		"an accepted DELETE with a page":       {index.Delete, upstream.Answer{Status: 202, Body: []byte("<html>")}, nil, inventory.WriteResult{Outcome: index.Accepted}},
		"an accepted DELETE":                   {index.Delete, upstream.Answer{Status: 202, Header: operation}, nil, inventory.WriteResult{Outcome: index.Accepted, Poll: poll}},
		"a DELETE of what is not there":        {index.Delete, upstream.Answer{Status: 404, Body: []byte(absent)}, nil, inventory.WriteResult{Outcome: index.Gone, Error: refusal(404, "ResourceNotFound", "The resource m was not found.")}},
		"a 404 of something else":              {index.Delete, upstream.Answer{Status: 404, Body: []byte(other)}, nil, inventory.WriteResult{Outcome: index.Refused, Error: refusal(404, "ResourceGroupNotFound", "The group g was not found.")}},
		"a 404 without words":                  {index.Delete, upstream.Answer{Status: 404}, nil, inventory.WriteResult{Outcome: index.Refused}},
		"a 404 that is too large":              {index.Delete, upstream.Answer{Status: 404}, upstream.ErrTooLarge, inventory.WriteResult{Outcome: index.Refused}},
		"a 404 that breaks off":                {index.Delete, upstream.Answer{Status: 404}, io.ErrUnexpectedEOF, inventory.WriteResult{Outcome: index.Ambiguous}},
		"a DELETE whose answer is too large":   {index.Delete, upstream.Answer{Status: 200}, upstream.ErrTooLarge, inventory.WriteResult{Outcome: index.Gone}},
		"a DELETE whose answer breaks off":     {index.Delete, upstream.Answer{Status: 200}, io.ErrUnexpectedEOF, inventory.WriteResult{Outcome: index.Ambiguous}},
		"an acceptance that breaks off":        {index.Delete, upstream.Answer{Status: 202}, io.ErrUnexpectedEOF, inventory.WriteResult{Outcome: index.Ambiguous}},
		"a DELETE that was not sent":           {index.Delete, upstream.Answer{}, unsent, inventory.WriteResult{Outcome: index.NotSent}},
		"a DELETE without an answer":           {index.Delete, upstream.Answer{}, sent, inventory.WriteResult{Outcome: index.Ambiguous}},
		"a move":                               {index.Move, upstream.Answer{Status: 204}, nil, inventory.WriteResult{Outcome: index.Succeeded}},
		"an accepted move":                     {index.Move, upstream.Answer{Status: 202, Header: result}, nil, inventory.WriteResult{Outcome: index.Accepted, Poll: resultPoll}},
		"a refused move":                       {index.Move, upstream.Answer{Status: 404, Body: []byte(absent)}, nil, inventory.WriteResult{Outcome: index.Refused, Error: refusal(404, "ResourceNotFound", "The resource m was not found.")}},
		"a move that timed out behind a proxy": {index.Move, upstream.Answer{Status: 504}, nil, inventory.WriteResult{Outcome: index.Ambiguous}},
		"a move whose answer breaks off":       {index.Move, upstream.Answer{Status: 429}, io.ErrUnexpectedEOF, inventory.WriteResult{Outcome: index.Ambiguous}},
	} {
		c.want.Status = c.got.Status
		w := Write{Kind: c.kind, ID: id, Endpoint: westus(t), Public: parseURL(t, "http://portico.example"), Caller: access.Principal{TenantID: "t", ObjectID: "o"}}
		if got, want := shown(t, w.Read(c.got, c.err)), shown(t, c.want); got != want {
			t.Errorf("%s:\ngot  %s\nwant %s", name, got, want)
		}
		w.Endpoint, c.want.Poll = nil, nil
		if got, want := shown(t, w.Read(c.got, c.err)), shown(t, c.want); got != want {
			t.Errorf("%s, not followed:\ngot  %s\nwant %s", name, got, want)
		}
	}
}

// shown writes down all that the index learns.
func shown(t *testing.T, a inventory.WriteResult) string {
	t.Helper()
	text, err := json.Marshal(a)
	if err != nil {
		t.Fatal(err)
	}
	if a.Error != nil {
		return fmt.Sprintf("%s with %d", text, a.Error.Status)
	}
	return string(text)
}

package fanout

import (
	"context"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"portico/arm"
	"portico/limits"
	"portico/regions"
	"portico/upstream"
)

// said is what a region says of a name; status 0: it hangs.
type said struct {
	status int
	body   string
}

// check asks regions a, b, … that answer so, with memory for some bytes.
func check(t *testing.T, memory int64, all ...said) (NameAnswer, error) {
	t.Helper()
	l := NewLister(Options{Budget: limits.NewMemory(memory, memory, nil), Memory: memory, Timeout: time.Minute})
	c := NameCheck{Namespace: "Contoso.Compute", Caller: "ann", ReceivedAt: time.Now()}
	for i := range all {
		c.Calls = append(c.Calls, upstream.Call{Method: "POST", Endpoint: &regions.Endpoint{Region: string(rune('a' + i))}})
	}
	c.Send = func(ctx context.Context, call upstream.Call) (*http.Response, error) {
		s := all[call.Endpoint.Region[0]-'a']
		if s.status == 0 {
			<-ctx.Done()
			return nil, &upstream.Fault{Sent: true, Region: call.Endpoint.Region, Err: ctx.Err()}
		}
		h := http.Header{"X-Ms-Request-Id": {"id-" + call.Endpoint.Region}}
		return &http.Response{StatusCode: s.status, Header: h, Body: io.NopCloser(strings.NewReader(s.body)), ContentLength: -1}, nil
	}
	return l.CheckName(t.Context(), c)
}

func TestCheckName(t *testing.T) {
	const free = `{"nameAvailable":true}`
	taken := func(why string) string {
		return `{"nameAvailable":false,"reason":"AlreadyExists","message":"` + why + `"}`
	}
	refusal := said{400, `{"error":{"code":"BadName","message":"Not so."}}`}
	for _, row := range []struct {
		what string
		all  []said
		body string
		code arm.Code
		http int
	}{
		{"all say that it is free", []said{{200, free}, {200, ` {"nameAvailable": true, "message": null}`}}, free, "", 0},
		{"the first that says no decides", []said{{200, free}, {200, taken("b")}, {200, taken("c")}}, taken("b"), "", 0},
		{"a link in an answer may be followed", []said{{200, `{"nameAvailable":true,"nextLink":"https://evil.example/"}`}, {200, taken("b")}}, taken("b"), "", 0},
		{"no is true whoever fails", []said{{503, ""}, {200, taken("b")}, {200, "?"}}, taken("b"), "", 0},
		{"no is true whoever hangs", []said{{0, ""}, {200, taken("b")}, {0, ""}}, taken("b"), "", 0},
		{"one that fails may have it", []said{{200, free}, {500, ""}}, "", "ServiceUnavailable", 503},
		{"a word is no truth", []said{{200, free}, {200, `{"nameAvailable":"true"}`}}, "", "ServiceUnavailable", 503},
		{"broken JSON", []said{{200, free}, {200, `{"nameAvailable":true`}}, "", "ServiceUnavailable", 503},
		{"no word at all", []said{{200, free}, {200, `{}`}}, "", "ServiceUnavailable", 503},
		{"not found is no answer", []said{{200, free}, {404, `{"error":{"code":"NotFound","message":"m"}}`}}, "", "ServiceUnavailable", 503},
		{"accepted is no answer", []said{{200, free}, {202, free}}, "", "ServiceUnavailable", 503},
		{"too long", []said{{200, free}, {200, `{"nameAvailable":true,"message":"` + strings.Repeat("x", maxNameAnswer) + `"}`}}, "", "ServiceUnavailable", 503},
		{"all refuse alike", []said{refusal, refusal}, "", "BadName", 400},
		{"all refuse, each otherwise", []said{refusal, {403, `{"error":{"code":"Denied","message":"m"}}`}}, "", "ServiceUnavailable", 503},
		{"some refuse", []said{refusal, {200, free}}, "", "ServiceUnavailable", 503},
		{"all are throttled", []said{{429, ""}, {429, ""}}, "", "TooManyRequests", 429},
	} {
		t.Run(row.what, func(t *testing.T) {
			got, err := check(t, 1<<20, row.all...)
			if row.code == "" {
				if err != nil || string(got.Body) != row.body {
					t.Errorf("%q, %v", got.Body, err)
				}
				return
			}
			fault, ok := errors.AsType[*arm.Error](err)
			if !ok || fault.Code != row.code || fault.Status != row.http {
				t.Errorf("%q, %v", got.Body, err)
			}
		})
	}
	got, err := check(t, 1<<20, said{200, free}, said{200, free})
	if err != nil || !slices.Equal(got.RequestIDs, []string{"id-a", "id-b"}) {
		t.Errorf("%v, %v", got.RequestIDs, err)
	}
}

// What regions say is charged to the memory of lists.
func TestCheckNameNeedsMemory(t *testing.T) {
	all := slices.Repeat([]said{{200, `{"nameAvailable":true}`}}, 20)
	_, err := check(t, 64<<10, all...)
	if fault, ok := errors.AsType[*arm.Error](err); !ok || fault.Code != arm.ServerBusy {
		t.Errorf("%v", err)
	}
	if _, err := check(t, 1<<20, all...); err != nil {
		t.Error(err)
	}
}

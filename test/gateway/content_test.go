package gateway_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
)

const (
	contentAtMost = 64 << 10
	firstMemory   = 16 << 10 // of a content, as package exchange has it
	overFull      = contentAtMost + 2*firstMemory
)

// long is a machine of about so many bytes.
func long(bytes int) string {
	return `{"location":"westus","properties":{"note":"` + strings.Repeat("x", bytes) + `"}}`
}

// allFree waits until no content holds memory.
func (s *site) allFree() {
	s.t.Helper()
	s.untilHeld(0)
}

// untilHeld waits until contents hold so many bytes.
func (s *site) untilHeld(bytes int) {
	s.t.Helper()
	s.within(fmt.Sprintf("contents hold %d bytes", bytes), func() bool { return s.metric("portico_content_held_bytes") == fmt.Sprint(bytes) })
}

// upload sends the beginning of content of no declared length, and no more.
// leave has the client go away.
func (s *site) upload(target, beginning string, header ...string) (leave func()) {
	s.t.Helper()
	body, content := io.Pipe()
	ctx, cancel := context.WithCancel(s.t.Context())
	r := request(s.t, s.server, http.MethodPut, target, "", append([]string{"Host", "portico.example", "Content-Type", "application/json"}, header...)...).WithContext(ctx)
	r.Body, r.ContentLength, r.GetBody = body, -1, nil
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if answer, err := s.server.Client().Do(r); err == nil {
			answer.Body.Close()
			s.t.Errorf("half a body was answered: %d", answer.StatusCode)
		}
	}()
	leave = sync.OnceFunc(func() {
		cancel()
		content.CloseWithError(context.Canceled)
		<-ended
	})
	s.t.Cleanup(leave)
	if _, err := io.WriteString(content, beginning); err != nil {
		s.t.Fatal(err)
	}
	return leave
}

// The contents of all requests together have a bound. What does not fit is
// refused, and nothing of it is sent; all is given back, however a request ends.
func TestContentsShareMemory(t *testing.T) {
	s := newSite(t, setup{limits: "requestBody: 64KiB, contentMemory: 64KiB, callerShare: 100%"})
	s.group("g")
	at := func(name string) string { return machinePath("g", name) + api }
	small, large := long(100), long(60<<10)
	for _, content := range []string{small, large} {
		s.ok(201, "PUT", at("declared"), content)
		s.ok(200, "DELETE", at("declared"), "")
		if got := s.chunked("PUT", at("chunked"), content); got.status/100 != 2 {
			t.Errorf("%d %s", got.status, got.text)
		}
		s.allFree()
	}

	// Slow clients hold what they have sent, until they leave. It takes two, as
	// there is some slack.
	leaves := []func(){s.upload(at("slow"), large), s.upload(at("slower"), large[:firstMemory+1])}
	s.untilHeld(overFull)
	s.at("westus").requests()
	refused := []seen{s.want(429, "TooManyRequests", "PUT", at("other"), large), s.chunked("PUT", at("other"), large)}
	for _, got := range refused {
		if got.status != 429 || got.code != "TooManyRequests" || got.header.Get("Retry-After") != "5" || got.header.Get("X-Ms-Failure-Cause") != "gateway" {
			t.Errorf("%+v", got)
		}
	}
	if calls := s.at("westus").requests(); len(calls) != 0 {
		t.Errorf("sent all the same: %+v", calls)
	}
	s.ok(200, "GET", at("chunked"), "") // holds nothing
	s.ok(201, "PUT", at("small"), small)
	for _, leave := range leaves {
		leave()
	}
	s.allFree()
	s.ok(201, "PUT", at("other"), large)

	s.want(413, "RequestContentTooLarge", "PUT", at("m"), long(contentAtMost))
	if got := s.chunked("PUT", at("m"), long(contentAtMost)); got.status != 413 {
		t.Errorf("%d %s", got.status, got.text)
	}
	s.want(400, "InvalidRequestContent", "PUT", at("m"), "{")
	s.ok(200, "POST", "/batch"+own, `{"requests":[{"name":"a","httpMethod":"PUT","url":"`+at("batched")+`","content":`+long(50<<10)+`}]}`)
	s.ok(200, "GET", at("batched"), "")
	s.allFree()
}

// Where others hold it all, content waits for a moment.
func TestContentWaitsForMemory(t *testing.T) {
	s := newSite(t, setup{tokens: true, limits: "requestBody: 64KiB, contentMemory: 64KiB, callerShare: 100%"})
	mine, others := []string{"Authorization", bearer(secret)}, []string{"Authorization", bearer(second)}
	s.ok(201, "PUT", groupPath("g")+own, westus, mine...)
	at := func(name string) string { return machinePath("g", name) + api }
	large := long(60 << 10)
	leaves := []func(){s.upload(at("slow"), large, others...), s.upload(at("slower"), large[:firstMemory+1], others...)}
	s.untilHeld(overFull)
	s.want(503, "ServerBusy", "PUT", at("m"), large, mine...)
	s.ok(200, "GET", groupPath("g")+own, "", mine...)
	for _, leave := range leaves {
		leave()
	}
	s.allFree()
	s.ok(201, "PUT", at("m"), large, mine...)
	s.allFree()
}

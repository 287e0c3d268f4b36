package polling

import (
	"net/http"
	"testing"
	"time"

	"portico/gateway/exchange"
	"portico/inventory/polls"
)

// What a poll has changed of a record stays when another one, that read it before,
// renews it.
func TestRenewalKeepsWhatChanged(t *testing.T) {
	f := newFixture(t)
	o := polls.Operation{Subscription: subscription, Token: "t", Substitute: true, Target: "/first", Until: f.Store.Now().Add(time.Minute)}
	if err := f.Store.Operations.Record(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	read, err := f.Store.Operations.Operation(t.Context(), subscription, "t")
	if err != nil {
		t.Fatal(err)
	}
	o.Target = "/second"
	if err := f.Store.Operations.Record(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	f.renewRecord(t.Context(), &exchange.Exchange{}, read)
	now, err := f.Store.Operations.Operation(t.Context(), subscription, "t")
	if left := now.Until.Sub(f.Store.Now()); err != nil || now.Target != "/second" || left < time.Hour {
		t.Errorf("%+v, %v left, %v", now, left, err)
	}
}

func TestShowsEnd(t *testing.T) {
	for status, want := range map[int]bool{
		202: false, 204: true, 201: true, 307: false, 400: true, 401: false, 403: false, 404: true, 408: false, 409: true, 429: false, 500: false, 504: false,
	} {
		if got, err := (&poll{}).showsEnd(&http.Response{StatusCode: status}); got != want || err != nil {
			t.Errorf("a poll's %d: %v %v", status, got, err)
		}
	}
}

package gateway_test

import (
	"strings"
	"testing"
)

// A provider may name the operation that a resource is in whenever the resource is
// read. Who reads it has not begun it: to who has, it stays what it is, and of one
// that no one is known to have begun it is known where it is polled.
func TestReadingTakesNoOperation(t *testing.T) {
	p := newScripted(t, setup{tokens: true})
	p.ok(201, "PUT", groupPath("g")+own, westus, auth(secret)...)
	item := groupPath("g") + "/providers/Contoso.Script/items/i"
	status := inSubscription + "/providers/Contoso.Script/operationStatuses/"
	started, other, plain := status+"begun", status+"other", `{"id":"`+item+`","location":"westus","properties":{"provisioningState":"Updating"}}`
	p.say("PUT "+item+api, 201, plain, "Azure-Asyncoperation", p.at+started)
	p.ok(201, "PUT", item+api, westus, auth(secret)...)
	before, err := p.recordedOperation(started)
	if err != nil || before.Method != "PUT" || before.ObjectID != callers[secret].ObjectID {
		t.Fatalf("%+v %v", before, err)
	}
	p.say("GET "+item+api, 200, plain, "Azure-Asyncoperation", p.at+started)
	for _, reader := range []string{second, secret} {
		got := p.ok(200, "GET", item+api, "", auth(reader)...)
		if p.local(got.header.Get("Azure-Asyncoperation")) != started {
			t.Errorf("%v", got.header)
		}
		if after, err := p.recordedOperation(started); err != nil || after != before {
			t.Errorf("%+v %v, was %+v", after, err, before)
		}
	}
	p.say("GET "+started, 200, `{"status":"Running"}`)
	p.ok(200, "GET", started, "", auth(secret)...)
	p.want(404, "HttpResourceNotFound", "GET", started, "", auth(second)...)

	p.say("GET "+item+api, 200, plain, "Azure-Asyncoperation", p.at+other)
	p.ok(200, "GET", item+api, "", auth(second)...)
	if known, err := p.recordedOperation(other); err != nil || known.Region != "westus" || known.Method != "GET" || known.TenantID+known.ObjectID != "" {
		t.Errorf("%+v %v", known, err)
	}
	p.say("GET "+other, 200, `{"status":"Running"}`)
	for _, caller := range []string{secret, second} {
		if got := p.ok(200, "GET", other, "", auth(caller)...); !strings.Contains(got.text, "Running") {
			t.Errorf("%s", got.text)
		}
	}
	p.want(404, "SubscriptionNotFound", "GET", other, "", auth(stranger)...)
	// Who begins it after all has it alone.
	p.say("PATCH "+item+api, 202, "", "Azure-Asyncoperation", p.at+other)
	p.ok(202, "PATCH", item+api, `{}`, auth(secret)...)
	p.ok(200, "GET", other, "", auth(secret)...)
	p.want(404, "HttpResourceNotFound", "GET", other, "", auth(second)...)
}

package gateway_test

import (
	"fmt"
	"math"
	"net/http"
	"strconv"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"portico/config"
	"portico/gateway"
)

// slowly are limits whose buckets hold so many tokens, and get one more in a second.
func slowly(bucket int) string {
	rate := fmt.Sprintf("{bucket: %d, perSecond: 1}", bucket)
	return fmt.Sprintf("throttle: {reads: %[1]s, writes: %[1]s, deletes: %[1]s}\n", rate)
}

const remaining = "X-Ms-Ratelimit-Remaining-"

// left is what an answer says is left, -1 for nothing.
func (a seen) left(of string) int {
	n, err := strconv.Atoi(a.header.Get(remaining + of))
	if err != nil {
		return -1
	}
	return n
}

// throttled sends requests until one is refused.
func (s *site) throttled(method, target string, header ...string) seen {
	s.t.Helper()
	for range 10_000 {
		if got := s.do(method, target, "", header...); got.status == http.StatusTooManyRequests {
			return got
		}
	}
	s.t.Fatal("it is never refused")
	return seen{}
}

func TestAnswersSayWhatIsLeft(t *testing.T) {
	s := newSite(t, setup{alone: true, tokens: true, sections: slowly(100)})
	ann := []string{"Authorization", bearer(secret)}
	for _, c := range []struct {
		method, target, body string
		status, left         int
		kind                 string
	}{
		{"PUT", groupPath("g") + own, westus, 201, 99, "Writes"},
		{"GET", groupPath("g") + own, "", 200, 99, "Reads"},
		{"DELETE", groupPath("h") + own, "", 404, 99, "Deletes"},
	} {
		got := s.do(c.method, c.target, c.body, ann...)
		if got.status != c.status || got.left("Subscription-"+c.kind) != c.left || got.left("Subscription-Global-"+c.kind) != 1499 || got.left("Tenant-"+c.kind) != -1 {
			t.Errorf("%s %s: %d %v", c.method, c.target, got.status, got.header)
		}
	}
	tenants := s.ok(200, "GET", "/subscriptions"+own, "", ann...)
	if tenants.left("Tenant-Reads") != 99 || tenants.left("Subscription-Reads") != -1 {
		t.Errorf("at the tenant: %v", tenants.header)
	}
	s.ok(201, "PUT", machinePath("g", "m")+api, westus, ann...)
	passed := s.ok(200, "GET", machinePath("g", "m")+api, "", ann...)
	if n := passed.left("Subscription-Reads"); n < 90 || len(passed.header[remaining+"Subscription-Reads"]) != 1 {
		t.Errorf("of a provider's answer: %v", passed.header)
	}
	free := s.ok(200, "GET", "/metadata/endpoints?api-version=2022-09-01", "", ann...)
	if free.left("Tenant-Reads") != -1 {
		t.Errorf("of the metadata: %v", free.header)
	}
	if off := newSite(t, setup{}).ok(200, "GET", "/subscriptions"+own, ""); off.left("Tenant-Reads") != -1 {
		t.Errorf("without limits: %v", off.header)
	}
}

// A caller that sends too many is refused, others are not, and after the pause that the
// refusal asks for it goes on.
func TestCallersAreThrottled(t *testing.T) {
	s := newSite(t, setup{alone: true, tokens: true, sections: slowly(5)})
	ann, bob := []string{"Authorization", bearer(secret)}, []string{"Authorization", bearer(second)}
	target := inSubscription + own
	got := s.throttled("GET", target, ann...)
	if got.code != "SubscriptionRequestsThrottled" || got.header.Get("Retry-After") != "1" || got.header.Get("X-Ms-Failure-Cause") != "gateway" || got.left("Subscription-Reads") != 0 {
		t.Errorf("%d %s %v", got.status, got.code, got.header)
	}
	got.says(t, "Number of 'read' requests for subscription '"+subscription+"' actor '"+callers[secret].ObjectID+
		"' exceeded. Please try again after '1' seconds after additional tokens are available. Refer to https://aka.ms/arm-throttling for additional information.")
	s.ok(200, "GET", target, "", bob...)
	s.ok(201, "PUT", groupPath("g")+own, westus, ann...) // of another kind
	s.ok(200, "GET", "/subscriptions"+own, "", ann...)   // and elsewhere
	time.Sleep(time.Second)
	s.ok(200, "GET", target, "", ann...)
	atTenant := s.throttled("GET", "/subscriptions"+own, ann...)
	if atTenant.code != "TenantRequestsThrottled" || atTenant.left("Tenant-Reads") != 0 {
		t.Errorf("%s %v", atTenant.code, atTenant.header)
	}
	if n := testutil.CollectAndCount(s.registry, "portico_throttled_requests_total"); n != 9 {
		t.Errorf("%d series", n)
	}
}

// Together the callers of a subscription have what it has as a whole; then the refusal
// blames none of them.
func TestSubscriptionsAreThrottled(t *testing.T) {
	s := newSite(t, setup{alone: true, tokens: true, sections: "throttle: {reads: {bucket: 20, perSecond: 1}, subscriptionFactor: 2}\n"})
	s.throttled("GET", inSubscription+own, "Authorization", bearer(secret))
	s.throttled("GET", inSubscription+own, "Authorization", bearer(second))
	got := s.throttled("GET", inSubscription+own, "Authorization", bearer(third))
	got.says(t, "Number of 'read' requests for subscription '"+subscription+
		"' exceeded. Please try again after '1' seconds after additional tokens are available. Refer to https://aka.ms/arm-throttling for additional information.")
	if got.left("Subscription-Global-Reads") != 0 || got.left("Subscription-Reads") < 1 {
		t.Errorf("%v", got.header)
	}
}

// Those who may not see a subscription, or invent one, throttle themselves.
func TestForeignSubscriptionsThrottleTheirCaller(t *testing.T) {
	s := newSite(t, setup{alone: true, tokens: true, sections: slowly(8)})
	eve := []string{"Authorization", bearer(stranger)}
	invented := "/subscriptions/00000000-0000-0000-0000-00000000f00%d" + own
	for i := range 8 {
		target := inSubscription + own
		if i%2 == 0 {
			target = fmt.Sprintf(invented, i)
		}
		got := s.want(404, "SubscriptionNotFound", "GET", target, "", eve...)
		for name := range got.header {
			if len(name) > len(remaining) && name[:len(remaining)] == remaining {
				t.Errorf("a subscription that is not there has %s", name)
			}
		}
	}
	if got := s.throttled("GET", inSubscription+own, eve...); got.code != "TenantRequestsThrottled" {
		t.Errorf("%s", got.code)
	}
	if got := s.ok(200, "GET", inSubscription+own, "", "Authorization", bearer(secret)); got.left("Subscription-Global-Reads") != 8*15-1 {
		t.Errorf("the subscription has paid: %v", got.header)
	}
	// Nor does it cost anything to be no one.
	for range 20 {
		s.want(401, "AuthenticationFailed", "GET", inSubscription+own, "")
		s.want(401, "InvalidAuthenticationToken", "GET", inSubscription+own, "", "Authorization", bearer("unknown"))
	}
	s.ok(200, "GET", inSubscription+own, "", "Authorization", bearer(secret))
}

// paid is by how much less is left after something was done, with what has come back
// meanwhile.
func (s *site) paid(of string, do func()) (least, most int) {
	s.t.Helper()
	target := map[string]string{"Subscription-Reads": inSubscription + own, "Tenant-Writes": "/subscriptions" + own}[of]
	started := time.Now()
	before := s.do("GET", target, "", "Authorization", bearer(secret)).left(of)
	do()
	after := s.do("GET", target, "", "Authorization", bearer(secret)).left(of)
	came := int(math.Ceil(time.Since(started).Seconds()))
	return before - after - 1, before - after - 1 + came
}

// A list costs a token for each region that it asks, and a batch one for each request.
func TestCostsOfListsAndBatches(t *testing.T) {
	s := newSite(t, setup{alone: true, tokens: true, sections: slowly(1000)})
	ann := []string{"Authorization", bearer(secret)}
	s.ok(201, "PUT", groupPath("g")+own, westus, ann...)
	s.ok(201, "PUT", machinePath("g", "a")+api, westus, ann...)
	costs := func(want int, do func()) {
		t.Helper()
		least, most := s.paid("Subscription-Reads", do)
		if want < least || want > most {
			t.Errorf("it costs %d to %d, want %d", least, most, want)
		}
	}
	list := func() {
		for range 30 {
			s.ok(200, "GET", machines+api, "", ann...)
		}
	}
	costs(30, list)
	s.ok(201, "PUT", machinePath("g", "b")+api, eastus, ann...)
	costs(60, list)
	costs(15, func() {
		for range 5 {
			s.batch([]string{get(groupPath("g") + own), get(machinePath("g", "a") + api), get(groupPath("none") + own)}, ann...)
		}
	})
}

// What a list costs beyond what there is has to be waited for.
func TestListsMakeDebts(t *testing.T) {
	s := newSite(t, setup{alone: true, tokens: true, sections: slowly(4)})
	ann := []string{"Authorization", bearer(secret)}
	s.ok(201, "PUT", groupPath("g")+own, westus, ann...)
	s.ok(201, "PUT", machinePath("g", "a")+api, westus, ann...)
	s.ok(201, "PUT", machinePath("g", "b")+api, eastus, ann...)
	for {
		if got := s.do("GET", machines+api, "", ann...); got.status == 429 {
			break
		} else if got.status != 200 {
			t.Fatal(got)
		}
	}
	refused := s.throttled("GET", machines+api, ann...)
	seconds, err := strconv.Atoi(refused.header.Get("Retry-After"))
	if err != nil || seconds < 1 || seconds > 2 {
		t.Errorf("Retry-After %q", refused.header.Get("Retry-After"))
	}
	time.Sleep(time.Duration(seconds) * time.Second)
	s.ok(200, "GET", machines+api, "", ann...)
}

// In a batch each request is refused for itself.
func TestThrottledRequestsOfBatches(t *testing.T) {
	s := newSite(t, setup{alone: true, tokens: true, sections: slowly(3)})
	var requests []string
	for range 10 {
		requests = append(requests, get(inSubscription+own))
	}
	answered, refused := 0, 0
	for _, r := range s.batch(requests, "Authorization", bearer(secret)) {
		switch r.HTTPStatusCode {
		case 200:
			answered++
		case 429:
			refused++
			// Side by side, one may find that others hold the caller's last tokens.
			if r.Headers["Retry-After"] == "" || r.code() != "SubscriptionRequestsThrottled" && r.code() != "TenantRequestsThrottled" {
				t.Errorf("%v", r)
			}
		}
	}
	if answered < 3 || refused == 0 || answered+refused != 10 {
		t.Errorf("%d were answered, %d refused", answered, refused)
	}
}

// Another configuration goes on with the levels of the one before.
func TestReloadKeepsLevels(t *testing.T) {
	s := newSite(t, setup{alone: true, tokens: true, sections: slowly(50)})
	s.throttled("GET", inSubscription+own, "Authorization", bearer(secret))
	next := *s.config
	next.Throttle.Reads = config.ThrottleRate{Bucket: 51, PerSecond: 1}
	live := gateway.NewLive(s.gateway)
	live.Replace(s.gateway.Succeed(&next, s.authenticator(), nil, nil))
	s.server.Config.Handler = live.Public()
	started, n := time.Now(), 0
	for s.do("GET", inSubscription+own, "", "Authorization", bearer(secret)).status == 200 {
		n++
	}
	if came := int(math.Ceil(time.Since(started).Seconds())); n > 2+came {
		t.Errorf("%d requests are let through after a reload", n)
	}
	if got := s.do("GET", inSubscription+own, "", "Authorization", bearer(second)); got.left("Subscription-Reads") != 50 {
		t.Errorf("the new limits do not hold: %v", got.header)
	}
}

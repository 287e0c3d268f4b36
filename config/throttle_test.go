package config

import "testing"

func TestThrottle(t *testing.T) {
	const start = "server: {publicURL: \"http://127.0.0.1:8080\", region: westus}\nregions: [{name: westus}]\n"
	const tokens = "auth: {mode: tokens, tokens: [{sha256: 2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824, tenantId: 00000000-0000-0000-0000-0000000000aa, objectId: 00000000-0000-0000-0000-0000000000bb}]}\n"
	for text, want := range map[string]bool{
		"":                                      false,
		tokens:                                  true,
		tokens + "throttle: {enabled: false}\n": false,
		"throttle: {reads: {bucket: 1}}\n":      true,
		"throttle: {enabled: false, reads: {bucket: 1}}\n": false,
	} {
		c, err := parse("x.yaml", start+text)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		if c.Throttle.Enabled != want {
			t.Errorf("%q: enabled %v", text, c.Throttle.Enabled)
		}
	}
	c, err := parse("x.yaml", start+`throttle:
  deletes: {bucket: 30}
  subscriptions: [{id: 00000000-0000-0000-0000-00000000000A, reads: {perSecond: 7}, subscriptionFactor: 2}]
`)
	must(t, err)
	all := ThrottleLimits{ThrottleRate{250, 25}, ThrottleRate{200, 10}, ThrottleRate{30, 10}, 15}
	own := SubscriptionThrottle{"00000000-0000-0000-0000-00000000000a", ThrottleLimits{ThrottleRate{250, 7}, ThrottleRate{200, 10}, ThrottleRate{30, 10}, 2}}
	if c.Throttle.ThrottleLimits != all || len(c.Throttle.Subscriptions) != 1 || c.Throttle.Subscriptions[0] != own {
		t.Errorf("got %+v", c.Throttle)
	}
}

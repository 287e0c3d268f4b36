package reload

import (
	"testing"

	"portico/test/harness"
)

// quickHealth lets an address that has returned have its calls again at once, so that it
// has some when it goes down the next time. There are no probes: what connects is calls.
const quickHealth = `
health:
  probe: {interval: 0s}
  circuit: {failures: 3, open: 50ms, longestOpen: 100ms}
  slowStart: 0s
`

// An address that goes down under load loses no read that has a second one to go to: not
// those that it was asked for on a connection that ends, and not those that find no
// connection. A write that may have arrived is not sent a second time, and fails.
func TestFlappingAddressLosesNoRead(t *testing.T) {
	t.Parallel()
	var flapping, other *harness.Relay
	s := newSite(t, harness.Config{Extra: quickHealth}, func(providers [2]*harness.Contoso) string {
		flapping, other = harness.StartRelay(t, providers[0].URL), harness.StartRelay(t, providers[0].URL)
		return flapping.URL + "," + other.URL
	})
	l := s.startTraffic(t)
	const times = 5
	for range times {
		harness.Await(t, bound, "calls by way of the address", func() bool { return flapping.Open() > 0 })
		l.more(t, 4)
		flapping.Kill()
		l.more(t, 4)
		flapping.Restart(t)
	}
	l.more(t, 4)
	l.stop()
	t.Log(l)
	if n := l.lost(t, get, list); n != 0 {
		t.Errorf("%d reads of %v calls were lost", n, l.counted())
	}
	if n := l.lost(t, patch); n > times*clients/4 {
		t.Errorf("%d writes failed; at most %d were under way when the address went down", n, times*clients/4)
	}
}

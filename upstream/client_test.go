package upstream

import (
	"testing"
	"time"
)

// What connections to an address are held to: nothing of the environment,
// nothing unpacked on the way, no wait without an end.
func TestTransports(t *testing.T) {
	client := newClient(t, Options{})
	for _, forWrites := range []bool{false, true} {
		x := client.transport(forWrites, nil)
		if x.Proxy != nil || !x.DisableCompression || x.MaxIdleConns != 0 || x.MaxIdleConnsPerHost < 64 || x.MaxConnsPerHost == 0 ||
			x.TLSHandshakeTimeout != 5*time.Second || x.MaxResponseHeaderBytes != 64<<10 {
			t.Errorf("for writes %v: %+v", forWrites, x)
		}
		if h := x.HTTP2; h.SendPingTimeout != 15*time.Second || h.PingTimeout != 5*time.Second || h.StrictMaxConcurrentRequests {
			t.Errorf("for writes %v: %+v", forWrites, h)
		}
	}
	if dialTimeout != 3*time.Second {
		t.Errorf("dialling may take %v", dialTimeout)
	}
}

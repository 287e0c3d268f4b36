package main

import (
	"crypto/tls"
	"crypto/x509"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"portico/internal/meter"
	"portico/upstream"
)

// The end of a certificate that providers are no longer shown, by another
// configuration, is no alert's concern.
func TestCertificateThatIsNoLongerShown(t *testing.T) {
	r := prometheus.NewRegistry()
	s := &service{expiries: meter.NewCertificates(r)}
	own := tls.Certificate{Leaf: &x509.Certificate{NotAfter: time.Unix(3, 0)}}
	shown := material{upstreamIdentities: upstreamIdentities{identities: upstream.Identities{"": {Certificate: &own}}}}
	for i, want := range []int{1, 0, 1} {
		s.showCertificates(shown)
		if i == 1 {
			s.showCertificates(material{})
		}
		if n, err := testutil.GatherAndCount(r, "portico_certificate_expiry_timestamp_seconds"); err != nil || n != want {
			t.Errorf("%d are shown, want %d; %v", n, want, err)
		}
	}
}

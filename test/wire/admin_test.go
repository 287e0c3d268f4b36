package wire

import (
	"net"
	"testing"
)

// A1: a browser must not reach the admin listener, whatever name a page uses for this
// machine.
func testAdmin(t *testing.T, w *world) {
	admin := gateway{address: w.admin}
	_, port, err := net.SplitHostPort(w.admin)
	if err != nil {
		t.Fatal(err)
	}
	if host, _, _ := net.SplitHostPort(w.admin); !net.ParseIP(host).IsLoopback() {
		t.Fatalf("the admin listener is at %s", w.admin)
	}
	for _, path := range []string{"/metrics", "/healthz", "/readyz", "/debug/pprof/", "/admin/subscriptions"} {
		for name, m := range map[string]message{
			"Host: evil":           {host: "evil.example"},
			"Host: evil, own port": {host: "evil.example:" + port},
			"Host: a longer name":  {host: "localhost.evil.example"},
			"Host: the public one": {host: "management.portico.test"},
			"Origin: evil":         {header: []string{"Origin: http://evil.example"}},
			"Origin: null":         {header: []string{"Origin: null"}},
			"Origin: itself":       {header: []string{"Origin: http://" + w.admin}},
			"absolute form":        {host: "evil.example", target: "http://evil.example" + path},
		} {
			t.Run(path+" "+name, func(t *testing.T) {
				if m.target == "" {
					m.target = path
				}
				if got := admin.send(t, m); got.status != 403 {
					t.Errorf("status %d, want 403: %s", got.status, got)
				}
			})
		}
		for name, m := range map[string]message{"by address": {}, "by localhost": {host: "localhost:" + port}, "by localhost without port": {host: "localhost"}, "by IPv6": {host: "[::1]:" + port}} {
			t.Run(path+" "+name, func(t *testing.T) {
				m.target = path
				if got := admin.send(t, m); got.status != 200 {
					t.Errorf("status %d, want 200: %s", got.status, got)
				}
			})
		}
	}
	t.Run("the public listener knows none of these", func(t *testing.T) {
		for _, path := range []string{"/metrics", "/healthz", "/readyz", "/debug/pprof/", "/admin/subscriptions"} {
			if got := w.send(t, message{target: path + "?" + V}); got.status != 404 {
				t.Errorf("%s: %s", path, got)
			}
		}
	})
}

// Package peers runs what Portico is measured against, as processes on loopback: nginx,
// HAProxy and Caddy of the system, a tuned httputil.ReverseProxy, a program that merges
// lists by decoding them, and the provider behind all of them. It also reads from the
// kernel what a process and those below it have used.
//
// Some peers are roles of the test binary itself: [Role] takes the place of a package's
// tests where the binary was started as one of them. Call it first in TestMain:
//
//	func TestMain(m *testing.M) {
//		if peers.Role(os.Args[1:]) {
//			return
//		}
//		os.Exit(harness.Main(m))
//	}
package peers

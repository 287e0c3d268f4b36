// Package peers runs the processes that Portico is measured against, on loopback: the
// installed nginx, HAProxy and Caddy, a tuned httputil.ReverseProxy, a program that merges
// lists by decoding them, and the provider behind all of them. It also reads from the
// kernel what a process and its descendants use.
//
// Some peers are roles of the test binary itself: [Role] runs one in place of the tests.
// Call it first in TestMain:
//
//	func TestMain(m *testing.M) {
//		if peers.Role(os.Args[1:]) {
//			return
//		}
//		os.Exit(harness.Main(m))
//	}
package peers

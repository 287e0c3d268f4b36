// Package harness runs Portico the way its users do: as processes. It builds
// the two programs, starts a `portico serve` and as many `contoso` endpoints
// as a test wants on free loopback ports, waits for them within bounds, and
// ends what it started, whatever becomes of the test. Beside them it runs what a
// test needs of their surroundings: a [Postgres] with standbys, a [Balancer], a
// [Relay] that can go, a [Prometheus].
//
// A test usually asks for a [World] and speaks HTTP to it:
//
//	w := harness.NewWorld(t, harness.WorldOptions{})
//	w.Portico.Do(t, harness.Request{Method: "PUT", Path: w.GroupPath("rg") + "?api-version=2021-04-01",
//		Body: `{"location":"westus"}`}).Want(t, 201)
//	w.Contoso("eastus").Resources(t) // what that provider really holds
//
// The package knows neither program's packages, but the names of failpoints: what it
// proves, it proves from outside. With Config.Failpoints a Portico is built with
// these; see package failpoint. A program that reports a data race or a panic on its
// standard error fails the test that started it.
//
// Environment:
//
//	PORTICO_BIN, CONTOSO_BIN   programs to use instead of building them
//	PORTICO_FAILPOINTS_BIN     likewise, for the Portico with failpoints
//	PORTICO_HTTP_CLIENT        the httpClient of all providers, such as standard
package harness

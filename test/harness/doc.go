// Package harness runs Portico like its users do: as processes. It builds the two
// programs, starts a `portico serve` and as many `contoso` endpoints as a test needs
// on free loopback ports, waits for them within bounds, and ends everything that it
// started, however the test ends. It also runs a test's surroundings: a [Postgres]
// with standbys, a [Balancer], a [Relay] that can be stopped, a [Prometheus].
//
// A test usually asks for a [World] and speaks HTTP to it:
//
//	w := harness.NewWorld(t, harness.WorldOptions{})
//	w.Portico.Do(t, harness.Request{Method: "PUT", Path: w.GroupPath("rg") + "?api-version=2021-04-01",
//		Body: `{"location":"westus"}`}).Want(t, 201)
//	w.Contoso("eastus").Resources(t) // what that provider really holds
//
// The package imports neither program's packages, except the names of failpoints: it
// tests from outside. Config.Failpoints uses a Portico that has them; see package
// failpoint. A program that reports a data race or a panic on its standard error
// fails the test that started it.
//
// Environment:
//
//	PORTICO_BIN, CONTOSO_BIN   programs to use instead of building them
//	PORTICO_FAILPOINTS_BIN     likewise, for the Portico with failpoints
//	PORTICO_INPUTS             a hash of all that results depend on, such as the programs:
//	                           the go command takes no result from before it changed
package harness

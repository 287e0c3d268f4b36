// Package gateway_test tests the gateway in its own process: the handlers of both listeners
// over a real store, in front of reference providers for two regions and for what is global.
// newSite starts all of that. Tests send requests to both listeners, set the clocks of the
// store and the providers forward, and read rows of the store where no answer shows them.
//
// A test belongs here if it needs a clock, a row, many requests, or a count of allocations.
// What a client can see of the programs themselves is tested by test/sdk, with the Azure SDK,
// and by test/wire, byte by byte.
package gateway_test

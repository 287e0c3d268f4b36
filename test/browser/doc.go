// Package browser tests the console as its users meet it: in Chromium, with a real Portico
// and real providers behind it. It is a module of its own, so that no one else has to fetch
// what drives the browser.
//
// With -write it makes the pictures of docs/operations.md anew, with -update those of the
// layout, which are compared with what is seen: go test -C test/browser -run TestLayout . -update
package browser

// Package browser tests the console as its users meet it: in Chromium, with a real Portico
// and real providers behind it. It is a module of its own, so that no one else has to fetch
// what drives the browser.
//
// With -write it makes the pictures of docs/operations.md anew.
package browser

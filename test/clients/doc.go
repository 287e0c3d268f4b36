// Package clients holds no code but tests: they drive a running Portico, over
// TLS, by the programs that people use against Azure, as they are installed; those
// of Terraform are built here, with fewer parts (see terraform.sh). No program is
// changed, and none is told more of Portico than its address, whom to trust and
// where to sign in.
//
// One program is no one's: feed/follow.mjs follows the change feed by what its page of
// the documentation says.
//
// Portico issues no tokens; an authority of the tests' own stands in for the one
// that clients sign in at (see stand_test.go).
//
// What a client is called with, and what it must print, stands here as its users
// would type and read it. Portico's own answers, byte by byte, are other
// packages' matter. `make clients` installs what is missing and runs everything.
package clients

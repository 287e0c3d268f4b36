// Package reload holds only tests: what a change costs the calls that are under way. One
// suite changes the address of a region in the configuration and measures the time until
// the first answer that comes by the new one; the other has one of a region's two
// addresses go down and come up again. Clients call all the while, and each call that
// failed is counted.
//
// The short forms hold that no call fails because of a reload, and no read because of an
// address that goes down. They compare counts alone, and no times. The long form measures,
// and with -reload.write it writes README.md here and its part of docs/evidence.md:
//
//	go test ./test/reload -count=1 -timeout 30m -v -run TestMeasured -reload.long -reload.write
package reload

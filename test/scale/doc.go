// Package scale holds only tests: it fills the stores of gateways with estates of 50
// regions, each ten times as large as the one before, by the databases' own statements,
// and measures what a gateway does over each. What grows shows as a slope, and a
// test fails where that is steeper than the answer's. They write README.md here and
// their part of docs/evidence.md:
//
//	go test ./test/scale -count=1 -timeout 60m -v -run TestScale -scale.decades 4,5,6 -scale.write
//	go test ./test/scale -count=1 -timeout 30m -v -run TestRoles -scale.assignments 1,2,3,4 -scale.write
package scale

// Package upgrade runs the program of an earlier version and the present one on one
// database: upgraded, taken back, and upgraded again, while clients write.
//
// earlier.txt names the commit of the earlier version: that of the last release, and
// before the first one a commit that has the present schema. It is built from the
// repository's history; a clone without it, as a shallow one, tests that the present
// version can be restarted, and says so.
package upgrade

// Package logs writes what Portico says of itself: JSON, one object per line,
// whatever is in it, and without secrets. There are three kinds of lines, told
// apart by their logger: access (one per request), audit (one per write), and
// all else.
//
// Access lines are written in batches ([Access]): they are by far the most, and may be
// lost. All others are written one by one, before whoever logs goes on.
//
// Redaction does not rest on the care of whoever logs: every text that goes out
// is looked through for credentials, and of a query nothing is shown but the
// values of parameters that are known to be harmless.
package logs

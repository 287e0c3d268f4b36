// Package sweep compares the index with what the providers hold, and mends the index
// where they differ, but only by what a GET of the single resource said.
package sweep

// Package meter is what all metrics have in common: a registry that can tell of
// every metric in it, so that the page of them cannot drift; histograms, native
// and classic, with exemplars; and what concerns the process as a whole: its
// build, its configuration, its certificates.
//
// Each package defines its own metrics. Their names begin with portico_, units
// are seconds and bytes, and no label holds what a client sent: labels are names
// of the region map, or words from lists in the code.
package meter

// Package filter reads the $filter of ARM's own lists and applies it.
//
// The language is the part of OData that ARM's lists of resources and groups
// understand: eq and ne on a fixed set of fields, substringof and startswith,
// and, or, not and parentheses. Text is compared without case, locations without
// white space as well, the values of tags as they are.
//
// A filter is applied to one item at a time. [Filter.Needs] and [Filter.NeedsPrefix]
// return what every match must equal or begin with, so that a list can be read by an
// index instead of from its beginning; [Filter.Alternatives] splits a filter into sides
// of which each may need more.
package filter

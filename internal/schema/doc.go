// Package schema reads OpenAPI documents, version 2 or 3, in JSON or YAML. It finds the schema of
// the body of a resource type's PUT, and follows references, also to other files.
//
// A [Schema] keeps the document's form, for generating values. A [Shape] is compiled from it for
// fast checks. In doubt a check accepts a body: it allows undeclared members, ignores formats and
// patterns that RE2 cannot express, and ignores read-only members.
package schema

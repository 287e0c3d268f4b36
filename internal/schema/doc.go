// Package schema reads OpenAPI documents, of version 2 or 3, as JSON or YAML: the bodies
// that the PUT of a resource type takes, with references, also into other files, and the
// schemas that they extend.
//
// A [Schema] is as the document has it, for those who make values; a [Shape] is made of it
// once and checks bodies fast. A check would rather pass a body that the provider refuses
// than refuse one that it takes: members that no schema declares fit, formats and patterns
// beyond RE2 are not judged, and what a document says is for answers alone is ignored.
package schema

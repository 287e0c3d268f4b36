// Package arm is the vocabulary of the Azure Resource Manager contract: resource IDs
// and request paths, api-versions, names, locations, tags, entity tags and the error
// envelope. Everything in it is a pure value; nothing here reads a clock, a file or the
// network, so every other package may use it.
//
// It has two notions of sameness. Names, namespaces, types and path literals match
// without case: [Fold] gives the form for comparisons and keys, while output keeps the
// client's spelling. Locations also ignore white space: see [Location].
package arm

// Package corpus holds small templates as a compiler of Bicep writes them, one for each way
// in which a feature of the language is compiled, and what becomes of each when it is
// deployed. Its tests deploy them all, to providers that take any type; package clients
// deploys some by az. The templates in refused are refused, each by its sentence.
//
// A template's metadata say what it shows and what its outputs are; see [Case]. Its
// parameters, if it needs any, stand in the file NAME.parameters.json.
package corpus

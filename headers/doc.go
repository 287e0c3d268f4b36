// Package headers decides which headers pass between clients and providers.
//
// Both ways only named headers pass: those that HTTP and ARM define for such
// messages, x-ms-* outside the families that the gateway keeps for itself, and what
// the region map lists for the provider. Whatever else arrives stays behind: a header
// that nobody here knows may be a credential or an identity to a server behind the
// provider, and an instruction to a browser or to a proxy in front of the gateway.
package headers

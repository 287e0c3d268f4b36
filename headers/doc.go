// Package headers decides which headers pass between clients and providers.
//
// Only named headers pass, in both directions: those that HTTP and ARM define for such
// messages, x-ms-* outside the gateway's reserved families, and those that the region
// map lists for the provider. An unknown header does not pass: it may be a credential
// or an identity to a server behind the provider, or an instruction to a browser or to
// a proxy in front of the gateway.
package headers

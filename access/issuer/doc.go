// Package issuer authenticates the bearer tokens that an issuer of OpenID Connect
// signs. An [Issuer] turns a token into a principal; its [Keys] are fetched when they are
// first needed, and outlive both a configuration and the issuer's outages.
//
// Nothing of a token counts before its signature is verified, with one exception: the
// issuer that it names decides whether this issuer judges it.
package issuer

// Package compression compresses answers on their way to clients that ask for it
// (RFC 9110, section 12.5.3), by gzip, in one middleware: who makes an answer does not
// know of it.
//
// An answer goes as it is where it has another coding already, is short, is a part, has
// no text, or has a strong entity tag or a digest, which hold for its very bytes. Weak
// tags stay: they name the representation, in whichever coding. What compresses takes
// memory, which its caller is charged for; where there is none, answers go as they are.
package compression

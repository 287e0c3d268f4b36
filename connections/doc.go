// Package connections bounds the connections of a listener: how many there are, how
// many come from one address, and how long one stays over which nobody has shown
// who it is.
//
// Where all connections are in use, a newcomer takes the place of another's: of the
// address with most, and there of the newest, those that are not authenticated
// before others. So an address that opens many takes them from itself, not from
// others. Trusted proxies carry the requests of many clients; they have no bound of
// their own and never give way.
//
// A [Table] is the bound of one listener. [Table.Listen] puts it in front of an
// [http.Server], [Table.ListenTLS] does where the server speaks TLS, [Table.State] and
// [Table.Context] are the server's hooks, and [Authenticated] is what its handler
// calls.
//
// The heads of requests are looked at while net/http reads them, as it does not tell
// of one with a length beside chunks. Its handler learns of that by [Ambiguous].
package connections

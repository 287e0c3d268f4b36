// Package console is the page of the admin listener: its files, which are in the program,
// and the sessions of those who signed in to it.
//
// The page gets all that it shows from the routes below /admin/ (package
// [portico/gateway/admin/api]). It builds elements and sets their text; no text of a
// client or a provider ever becomes markup, and the policy that goes out with the page
// would not let it.
package console

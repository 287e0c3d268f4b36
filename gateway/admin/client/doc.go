// Package client calls the admin listener of a running gateway, by the description of it in
// gateway/admin/api. The commands of cmd/portico use it.
//
// It sends the token to the address that it was made for and nowhere else: it uses no
// proxy, follows no redirect, and takes no link to another host. Answers are bounded, and
// an error says which kind it is: *UnreachableError, *Refusal or *NotAdminError.
package client

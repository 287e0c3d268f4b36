// Package operator holds the commands by which operators ask a running service and change
// it: a file for each noun. All of them call its admin listener by gateway/admin/client.
//
// An asking is a command of this kind: it finds the service, calls it, writes what was
// answered in the form that is wanted, and says what to do next where it fails. A listing
// is one that shows a list.
package operator

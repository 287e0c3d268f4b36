// Package backup copies an SQLite database into a file while the database is in use, and
// replaces a database that is not in use by such a file.
//
// A restored database is older than the providers' state. Therefore [Restoration.Restore]
// ends the work that was in progress at the time of the backup: its outcome is unknown, and
// resuming it could change resources that were created since. A sweep finds the resources
// that the restored index lacks.
package backup

// Package backup copies SQLite's database into a file while it is in use, and puts such
// a file in the place of a database that is not.
//
// A restored database is older than its providers' state. Restore therefore ends the
// work that clients had under way at the time of the backup: its outcome is unknown, and
// resuming it could change resources that were created since. A sweep finds the
// resources that the restored index lacks.
package backup

// Package activity records what the activity log shows beside changes: requests that were
// refused, and what providers answered to requests that were only passed on to them.
//
// The events of changes are recorded in the transactions that make them. These have none;
// a [Recorder] gives each one of its own, before the client has its answer. Nothing depends
// on it: if the store does not take the event, the answer goes out, and a counter says so.
// What one caller is refused in a minute makes a bounded number of events.
package activity

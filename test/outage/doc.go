// Package outage holds only tests: what callers meet while the store is away, and that
// nothing is wrong once it is back.
//
// Two gateways over one PostgreSQL serve callers with roles, who read, list, write, poll and
// assign roles. PostgreSQL is stopped as a crash would, for longer than gateways answer from
// memory, and started again. Each call is noted with what came of it and when, so that a
// page says which calls were served for how long, and how the others were refused.
//
// All along, no call may be answered in another way than as documented, and none let in
// that should not be. Afterwards what was acknowledged is in the index, in lists and at the
// providers, what was deleted is in none of them, and what had begun before has ended.
//
// The short form shortens how long memory answers. The long one, that of make evidence,
// leaves it as it is in production, repeats the outage, and writes README.md
// here and its part of docs/evidence.md.
package outage

// Package chaos holds no code but tests: clients write and read through two
// replicas of the gateway, over a PostgreSQL primary with a synchronous standby
// and three regions of the reference provider, while everything that can fail is
// made to fail. Gateways and regions are killed and started again, gateways are
// paused for longer than they may hold a lease or a write, the store is paused,
// restarted, crashed, and in the second half replaced by its standby; providers
// refuse, reset connections before and after they applied a write, stall, delay,
// answer when the answer is no longer true, and apply writes long after nobody
// waits for the answer any more. Gateways are also ended, paused and made to fail
// at the named points of package failpoint, before and after each durable step.
// One group is deleted with what it holds and made anew all the while.
// Subscriptions change, are registered and deleted and made anew, and providers
// have to be told. Some writes come in batches, short ones and such as a job
// carries. Most kills wait for a gateway that is in the midst of the group's
// deletion; and at last each client leaves a resource to a PATCH of which nobody
// hears the end, and another to an operation that nobody waits for, and all
// gateways are killed once more.
//
// Five things are judged:
//
//   - Within a bounded time without further faults the index says what the
//     providers hold: the same ids in the same casing and regions, no row in
//     doubt, no write open, no work left over, no quota miscounted. So do the
//     lists that each gateway gives, tags included.
//   - What the clients saw is linearizable, resource by resource. Each request of
//     a batch counts as a call of its own; those of one that was cut off may have
//     been sent or not. The model is in model_test.go, with what it says about
//     answers that leave things open and about groups that are deleted. It is shown
//     to find a stale read put in by hand, at the end and just after the delete of
//     the resource's group.
//   - Whenever nothing is left to be told of a subscription, amid the faults and in
//     the end, every endpoint knows its newest state for each namespace, and learns
//     nothing older afterwards.
//   - No group was said to be gone while a provider held something of it.
//   - No answer was one that a client should never get.
//
// With an even seed the gateways never sweep, so that nothing but the rules of
// the index keeps it true; with an odd one they sweep all the time.
//
// The short form runs with the other tests:
//
//	go test ./test/chaos
//
// The long form, 20,000 writes and 30 kills of gateways, takes about a quarter of an hour:
//
//	go test ./test/chaos -run TestChaos -count=1 -timeout 60m -v -chaos.long
//
// Providers also take freedoms that make it hard to know what there is. Each is an
// oddity in oddities_test.go; -chaos.odd names some beside those that are on there,
// or all.
//
// Faults follow a schedule that -chaos.seed determines; the report of each run
// begins with its seed. The moments at which they strike depend on the
// machine, so a seed narrows a fault down but does not repeat it exactly.
// What is needed to understand a failure is written to the folder that
// -chaos.out names, or to the test's artifacts (go test -artifacts).
package chaos

// Package chaos holds only tests: clients write and read through two replicas of
// the gateway while everything that can fail is made to fail. Behind the gateways
// are a PostgreSQL primary with a synchronous standby and three regions of the
// reference provider.
//
// Gateways and regions are killed and restarted; gateways are paused for longer
// than a lease or a write may last, and killed, paused or made to fail at the named
// points of package failpoint, before and after each durable step. The store is
// paused, restarted, crashed, and replaced by its standby in the second half.
// Providers refuse, reset connections before and after they applied a write,
// stall, delay, send outdated answers, and apply writes long after the call ended.
//
// One group, the fleeting one, is deleted with its resources and recreated all the
// time; most kills wait for a gateway that is deleting it. Subscriptions change,
// register, are deleted and recreated, and providers must be notified. Some writes
// come in batches, short ones and ones that a job carries on. At the end each
// client leaves one resource with a PATCH whose answer is lost and another with an
// operation that no one polls, and all gateways are killed once more.
//
// Six things are checked:
//
//   - Within a bounded time without further faults the index agrees with the
//     providers: the same ids in the same casing and regions, no unverified row, no
//     open write, no job left, correct quotas. So do the lists of each gateway,
//     tags included.
//   - What the clients saw is linearizable, resource by resource. Each request of
//     a batch counts as a call of its own; those of an interrupted batch may have
//     been sent or not. model_test.go explains the model, open answers and group
//     deletes. The checker must also find a stale read inserted at the end of a
//     history, and one just after the delete of the resource's group.
//   - Whenever no notification of a subscription is due, amid the faults and at the
//     end, every endpoint knows its newest state for each namespace, and takes no
//     older one afterwards.
//   - Whoever follows the change feed meanwhile sees each event once, in order; whoever
//     reads it at the end sees the same. Replayed, it is what the index holds, and it
//     tells of each write that was answered.
//   - No group was reported gone while a provider held one of its resources.
//   - No client got an answer that no client should get.
//
// With an even seed the gateways never sweep, so that only the rules of the index
// keep it true; with an odd one they sweep all the time.
//
// The short form runs with the other tests:
//
//	go test ./test/chaos
//
// The long form, 20,000 writes and 30 kills of gateways, takes about a quarter of an hour:
//
//	go test ./test/chaos -run TestChaos -count=1 -timeout 60m -v -chaos.long
//
// Providers also take freedoms that make it hard to know which resources exist.
// oddities_test.go lists them; -chaos.odd turns on more of them, or all.
//
// Faults follow a schedule that -chaos.seed determines; the report of each run
// begins with its seed. Their exact moments depend on the machine, so a seed
// narrows a failure down but does not repeat it exactly. Logs and histories of a
// failed run are written to the folder that -chaos.out names, or to the test's
// artifacts (go test -artifacts).
package chaos

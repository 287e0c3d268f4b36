// Package bench measures Portico against peers in one run. The machine's noise
// makes absolute times mean little, so each benchmark reports a ratio to
// something measured beside it; allocations per operation are the steady
// figure. Run with make bench. Package compare, below, measures processes beside other
// proxies.
//
// The index has benchmarks of its own beside its code, in package inventory and below.
// What they promise, and what was measured on two cores that had other work to
// do as well:
//
//   - BenchmarkCachedLookup: a cached lookup allocates nothing and costs at most
//     4 times one in a plain map. It was 3.2 times with one key that is asked for
//     all the time, and 2.6 times over 50,000.
//   - BenchmarkCreate: 64 at a time make durable creates (the intent on disk, the
//     outcome visible) at no less than 80 % of the rate of a loop that does only
//     the transactions, with as many durable commits. It was 80 and 90 % in two
//     runs with SQLite, 92 and 98 % with PostgreSQL, by 0.04 to 0.05 flushes a
//     create; at 16, 82 to 114 % by 0.13 to 0.16; alone, 93 to 127 % by one. More
//     than 100 % is noise. Writers who do not wait for each other leave batches
//     half full: a loop that fills each with 64, so with 0.016 flushes a create,
//     is faster, by which it was 63 to 88 % with SQLite, 66 to 102 % with
//     PostgreSQL.
//   - BenchmarkScale: a question costs at most 1.5 times as much with ten times
//     the rows. From one million rows to ten, with SQLite and PostgreSQL: a
//     cached lookup 1.02 and 1.09, one by the store 1.32 and 0.95, a page of a
//     group 1.19 and 1.45, the regions that hold a type 0.95 and 1.11, those of a
//     group 1.13 and 1.09. From 100,000 to a million: 0.91 to 1.23.
//
// BenchmarkObservation tells what the access log costs of a read of a resource, as a
// ratio of the processor's time in one run, the share of an in-process provider
// included: 1.04 to 1.12 times that without, in three runs on two busy cores, and no
// allocation. A test in package gateway holds what metrics and the log allocate for an
// empty request to 12.
//
// BenchmarkEstate compares lists over 50 regions with those of one region and with
// nginx. With 10 million resources of 1,000 subscriptions, on two cores that had ten
// times the work that they can do: a first page took 1.20 times as long as the region's,
// a walk 1.25 times, and the peak of memory was 1.05 times that of the first list.
//
// BenchmarkDeployment runs processes: a deployment of 800 resources that a loop makes in
// three regions took 1.35 times as long as the same PUTs from a plain loop with SQLite, 1.4
// times with PostgreSQL, in the median of 15 rounds on two cores, which both keep busy, each
// step being recorded before it is sent and once it has ended; it needed at most 17 MiB of
// memory above rest.
//
// With PORTICO_BENCH_CHECK set they fail where that does not hold. What the
// client of a write waits for is counted by a test, one durable and one visible
// commit; BenchmarkWrite splits its time: 1.5 times that of the two commits alone
// with SQLite, 1.2 times with PostgreSQL, the provider's own time left out.
package bench

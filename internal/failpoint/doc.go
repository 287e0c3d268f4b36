// Package failpoint names the points of the protocol at which a test can pause,
// fail or end a process: before and after every durable step. It imports nothing
// of the project.
//
// A normal build has none of them: [Enabled] is a false constant, [Hit] returns
// nil, and the compiler leaves no code where it is called. A build with the tag
// failpoints has the real ones:
//
//	go build -tags failpoints ./cmd/portico
//
// In such a build rules say what happens at a point:
//
//	store.commit.after=kill,once,after=3     at the fourth time that it is reached
//	answer.settle.before=pause:2s            until released, for 2 seconds at most
//	job.claim.after=fail,p=0.1               with a probability, each time
//	upstream.send.after=exit                 at the next time
//
// The actions are pause (for [LongestPause] at most, DefaultPause where no bound is
// given), fail (the step ends with a [*Failure], as it would where the store or
// the network fails), exit (with [ExitCode], without any end in good order) and
// kill (by SIGKILL). Each of them happens every time, but as after, p and once say.
//
// The environment variable PORTICO_FAILPOINTS holds rules for the start, separated
// by semicolons. PORTICO_FAILPOINTS_LISTEN is a loopback address on which rules are
// set and taken back while the process runs:
//
//	GET    /points                 every point with its rule, and how often it was reached
//	PUT    /points/{name}          the rule in the body, such as: pause:2s,once
//	POST   /points/{name}/release  lets go on what is paused there
//	DELETE /points/{name}          takes the rule back, and releases
package failpoint

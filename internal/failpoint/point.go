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
// In such a build, a rule defines what happens at a point:
//
//	store.commit.after=kill,once,after=3     at the fourth hit
//	answer.settle.before=pause:2s            until released, at most for 2 seconds
//	job.claim.after=fail,p=0.1               with a probability, at each hit
//	upstream.send.after=exit                 at the next hit
//
// The actions are pause (at most for [LongestPause], or for DefaultPause without a
// bound), fail (the step returns a [*Failure], as if the store or the network had
// failed), exit (with [ExitCode], without cleanup) and kill (by SIGKILL). Each
// applies at every hit, unless restricted by after, p or once.
//
// The environment variable PORTICO_FAILPOINTS holds initial rules, separated by
// semicolons. PORTICO_FAILPOINTS_LISTEN is a loopback address at which rules are
// set and cleared while the process runs:
//
//	GET    /points                 all points with their rules and numbers of hits
//	PUT    /points/{name}          sets the rule in the body, such as: pause:2s,once
//	POST   /points/{name}/release  ends the pauses at the point
//	DELETE /points/{name}          clears the rule, and ends the pauses
package failpoint

// Point is the name of a point.
type Point string

// The points; [All] describes them.
const (
	StoreCommitBefore Point = "store.commit.before"
	StoreCommitAfter  Point = "store.commit.after"

	EventRecordBefore Point = "event.record.before"
	EventRecordAfter  Point = "event.record.after"

	WriteBeginBefore   Point = "write.begin.before"
	WriteBeginAfter    Point = "write.begin.after"
	UpstreamSendBefore Point = "upstream.send.before"
	UpstreamSendAfter  Point = "upstream.send.after"
	AnswerSettleBefore Point = "answer.settle.before"
	AnswerSettleAfter  Point = "answer.settle.after"

	JobClaimBefore    Point = "job.claim.before"
	JobClaimAfter     Point = "job.claim.after"
	JobConcludeBefore Point = "job.conclude.before"
	JobConcludeAfter  Point = "job.conclude.after"

	ObserveBefore   Point = "observe.before"
	ObserveAfter    Point = "observe.after"
	FollowEndBefore Point = "follow.end.before"
	FollowEndAfter  Point = "follow.end.after"

	GroupBeginBefore  Point = "group.begin.before"
	GroupBeginAfter   Point = "group.begin.after"
	GroupSettleBefore Point = "group.settle.before"
	GroupSettleAfter  Point = "group.settle.after"
	GroupCloseBefore  Point = "group.close.before"
	GroupCloseAfter   Point = "group.close.after"

	MoveBeginBefore  Point = "move.begin.before"
	MoveBeginAfter   Point = "move.begin.after"
	MoveSettleBefore Point = "move.settle.before"
	MoveSettleAfter  Point = "move.settle.after"
	MoveEndBefore    Point = "move.end.before"
	MoveEndAfter     Point = "move.end.after"

	NoticeBeginBefore Point = "notice.begin.before"
	NoticeBeginAfter  Point = "notice.begin.after"
	NoticeEndBefore   Point = "notice.end.before"
	NoticeEndAfter    Point = "notice.end.after"

	EraseBefore Point = "erase.before"
	EraseAfter  Point = "erase.after"

	BatchBeginBefore  Point = "batch.begin.before"
	BatchBeginAfter   Point = "batch.begin.after"
	BatchAnswerBefore Point = "batch.answer.before"
	BatchAnswerAfter  Point = "batch.answer.after"

	DeployBeginBefore  Point = "deploy.begin.before"
	DeployBeginAfter   Point = "deploy.begin.after"
	DeploySettleBefore Point = "deploy.settle.before"
	DeploySettleAfter  Point = "deploy.settle.after"
	DeployEndBefore    Point = "deploy.end.before"
	DeployEndAfter     Point = "deploy.end.after"
)

// Description describes a point.
type Description struct {
	Point Point
	Fails bool // it can fail on request
	Says  string
}

// All returns the closed list of points: no other name can have a rule.
func All() []Description {
	return []Description{
		{StoreCommitBefore, true, "A transaction has written everything and is about to be committed; a failure loses it."},
		{StoreCommitAfter, true, "A transaction was committed and no one has been told; a failure has its callers believe that this is unknown."},

		{EventRecordBefore, false, "The events of what a transaction has changed are about to be recorded."},
		{EventRecordAfter, false, "The events of what a transaction has changed were recorded."},

		{WriteBeginBefore, false, "A client's write is about to be recorded as an intent."},
		{WriteBeginAfter, false, "A client's write was recorded as an intent and has not been sent."},
		{UpstreamSendBefore, true, "A write is about to be given to a connection; a failure means that it was not sent."},
		{UpstreamSendAfter, true, "Bytes of a write have left and nothing of its answer has been read; a failure breaks the connection."},
		{AnswerSettleBefore, true, "What became of a client's write is known and is about to be recorded; a failure leaves its intent open."},
		{AnswerSettleAfter, false, "What became of a client's write was recorded and the client has no answer."},

		{JobClaimBefore, true, "Due jobs are about to be claimed."},
		{JobClaimAfter, true, "Jobs were claimed and no attempt has begun; a failure leaves them to the end of their lease."},
		{JobConcludeBefore, false, "An attempt at a job has ended and its outcome is about to be recorded."},
		{JobConcludeAfter, false, "The outcome of an attempt at a job was recorded."},

		{ObserveBefore, false, "A provider has answered a question about a row and that is about to be recorded."},
		{ObserveAfter, false, "What a provider said about a row was recorded."},
		{FollowEndBefore, false, "The end of an operation was seen and the end of its follow is about to be recorded."},
		{FollowEndAfter, false, "The end of a follow was recorded, and its row is flagged."},

		{GroupBeginBefore, false, "The delete of a member of a group is about to be recorded as an intent."},
		{GroupBeginAfter, false, "The delete of a member of a group was recorded as an intent and has not been sent."},
		{GroupSettleBefore, false, "What became of the delete of a member of a group is known and is about to be recorded."},
		{GroupSettleAfter, false, "What became of the delete of a member of a group was recorded, but not in the job."},
		{GroupCloseBefore, false, "The last look found nothing and the group is about to go."},
		{GroupCloseAfter, false, "The group has gone, and with it its job."},

		{MoveBeginBefore, false, "The call that moves resources is about to be recorded."},
		{MoveBeginAfter, false, "The call that moves resources was recorded and has not been sent."},
		{MoveSettleBefore, false, "It is known which resources have moved and that is about to be recorded."},
		{MoveSettleAfter, false, "It was recorded which resources have moved."},
		{MoveEndBefore, false, "The fate of every resource of a move is recorded and its groups are about to be given back."},
		{MoveEndAfter, false, "The groups of a move were given back."},

		{NoticeBeginBefore, false, "An attempt to tell an endpoint of a subscription is about to be recorded."},
		{NoticeBeginAfter, false, "An attempt to tell an endpoint of a subscription was recorded and nothing has been sent."},
		{NoticeEndBefore, false, "An endpoint knows the newest state of a subscription and that is about to be recorded."},
		{NoticeEndAfter, false, "It was recorded that an endpoint knows the newest state of a subscription."},

		{EraseBefore, false, "A part of a Deleted subscription is about to be erased."},
		{EraseAfter, false, "A part of a Deleted subscription was erased."},

		{BatchBeginBefore, false, "A request of a long batch is about to be recorded as sent."},
		{BatchBeginAfter, false, "A request of a long batch was recorded as sent, and has not been."},
		{BatchAnswerBefore, false, "The answer to a request of a long batch is about to be recorded."},
		{BatchAnswerAfter, false, "The answer to a request of a long batch was recorded."},

		{DeployBeginBefore, false, "A step of a deployment is about to be recorded as sent."},
		{DeployBeginAfter, false, "A step of a deployment was recorded as sent, and has not been."},
		{DeploySettleBefore, false, "What became of a step of a deployment is known and is about to be recorded."},
		{DeploySettleAfter, false, "What became of a step of a deployment was recorded."},
		{DeployEndBefore, false, "All steps of a deployment have ended and its end is about to be recorded."},
		{DeployEndAfter, false, "The end of a deployment was recorded."},
	}
}

func known(name string) (Description, bool) {
	for _, d := range All() {
		if string(d.Point) == name {
			return d, true
		}
	}
	return Description{}, false
}

// Failure is the error of a step whose point fails.
type Failure struct{ Point Point }

func (f *Failure) Error() string { return "failed at the point " + string(f.Point) + " by its rule" }

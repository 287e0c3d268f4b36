package index

import (
	"reflect"
	"testing"
)

// Ids and generations in these tables are single letters.
func letter(c byte) (id [16]byte) {
	id[0] = c
	return id
}

// fresh is the generation that a changed row gets.
var fresh = letter('F')

func row(phase Phase, marks ...string) *Row {
	r := &Row{Phase: phase, Generation: letter('G')}
	for _, mark := range marks {
		switch mark {
		case "verify":
			r.Verify = true
		case "followPut":
			r.FollowPut = true
		case "followDelete":
			r.FollowDelete = true
		case "followPatch":
			r.FollowPatch = true
		case "fresh":
			r.Generation = fresh
		default:
			panic(mark)
		}
	}
	return r
}

func open(c byte, kind WriteKind, marks ...string) Intent {
	in := Intent{ID: letter(c), Kind: kind, Generation: letter('G'), Ends: 100}
	for _, mark := range marks {
		switch mark {
		case "made":
			in.CreatedRow = true
		case "spoiled":
			in.Overlapped = true
		case "ended":
			in.CallEnded = true
		case "touched": // another event gave the row a generation since
			in.Generation = letter('O')
		case "fresh":
			in.Generation = fresh
		default:
			panic(mark)
		}
	}
	return in
}

// after90 is an intent whose call is over at that time at the latest.
func after90(in Intent) Intent {
	in.NotAfter = 90
	return in
}

func of(row *Row, open ...Intent) State { return State{Row: row, Open: open} }

func answer(status int, outcome Outcome) Answered {
	return Answered{ID: letter('p'), Outcome: outcome, Status: status}
}

func patched(outcome Outcome, provisioningState string) Answered {
	return Answered{ID: letter('u'), Outcome: outcome, ProvisioningState: provisioningState}
}

func del(outcome Outcome) Answered { return Answered{ID: letter('d'), Outcome: outcome} }

func got(provisioningState string) Observed {
	return Observed{Generation: letter('G'), Found: true, ProvisioningState: provisioningState}
}

var missing = Observed{Generation: letter('G')}

var (
	startedPut    = Intended{ID: letter('p'), Kind: Put, Ends: 100}
	startedDelete = Intended{ID: letter('d'), Kind: Delete, Ends: 100}
	startedPatch  = Intended{ID: letter('u'), Kind: Patch, Ends: 100}

	nothing  = Actions{}
	proof    = Actions{Settled: true}
	learning = Actions{Settled: true, Learn: true}
	parting  = Actions{Orphaned: true}
	removal  = Actions{Settled: true, Tombstone: true, Orphaned: true}
)

func TestSettle(t *testing.T) {
	var (
		p = open('p', Put)
		d = open('d', Delete)
		u = open('u', Patch)
	)
	for _, c := range []struct {
		name   string
		before State
		event  any
		after  State
		did    Actions
	}{
		// R1, R7: an intent makes the row of a create and gives a new generation.
		{"R1 PUT of nothing makes a Pending row", of(nil), startedPut,
			of(row(Pending, "fresh"), open('p', Put, "made", "fresh")), nothing},
		{"R7 PUT on a row gives it a new generation", of(row(Live)), startedPut,
			of(row(Live, "fresh"), open('p', Put, "fresh")), nothing},
		{"R7 DELETE on a row gives it a new generation", of(row(Deleting, "verify")), startedDelete,
			of(row(Deleting, "verify", "fresh"), open('d', Delete, "fresh")), nothing},
		{"R1 DELETE of nothing makes no row", of(nil), startedDelete, of(nil, open('d', Delete, "fresh")), nothing},
		{"R5 a DELETE spoils the open PUT and is spoiled", of(row(Live), p), startedDelete,
			of(row(Live, "fresh"), open('p', Put, "spoiled"), open('d', Delete, "spoiled", "fresh")), nothing},
		{"R5 a PUT spoils the open DELETE and is spoiled", of(nil, d), startedPut,
			of(row(Pending, "fresh"), open('d', Delete, "spoiled"), open('p', Put, "made", "spoiled", "fresh")), nothing},
		{"R5 PUTs do not spoil each other", of(row(Pending), open('q', Put, "made")), startedPut,
			of(row(Pending, "fresh"), open('q', Put, "made"), open('p', Put, "fresh")), nothing},
		{"R5 DELETEs do not spoil each other", of(row(Live), open('e', Delete)), startedDelete,
			of(row(Live, "fresh"), open('e', Delete), open('d', Delete, "fresh")), nothing},
		{"R7 PATCH on a row gives it a new generation", of(row(Live)), startedPatch,
			of(row(Live, "fresh"), open('u', Patch, "fresh")), nothing},
		{"R5 a PATCH neither spoils a PUT nor is spoiled", of(row(Pending), p), startedPatch,
			of(row(Pending, "fresh"), p, open('u', Patch, "fresh")), nothing},
		{"R5 nor does a PUT spoil it", of(row(Live), u), startedPut, of(row(Live, "fresh"), u, open('p', Put, "fresh")), nothing},
		{"R5 a PATCH is spoiled by the open DELETE and spoils nothing", of(row(Live), d), startedPatch,
			of(row(Live, "fresh"), d, open('u', Patch, "spoiled", "fresh")), nothing},
		{"R5 a DELETE spoils the open PATCH and is not spoiled", of(row(Live), u), startedDelete,
			of(row(Live, "fresh"), open('u', Patch, "spoiled"), open('d', Delete, "fresh")), nothing},

		// R3: definite answers.
		{"R3 PUT 200 on Pending", of(row(Pending), p), answer(201, Succeeded), of(row(Live, "fresh")), learning},
		{"R3 PUT 200 on Live", of(row(Live), p), answer(200, Succeeded), of(row(Live, "fresh")), learning},
		{"R3 PUT 200 on Deleting: the delete is still followed", of(row(Deleting, "followDelete"), p), answer(200, Succeeded),
			of(row(Live, "followDelete", "fresh")), learning},
		{"R3 PUT 202 of a create", of(row(Pending), p), answer(202, Accepted), of(row(Pending, "followPut", "fresh")), learning},
		{"R3 PUT 202 of an update", of(row(Live), p), answer(202, Accepted), of(row(Live, "followPut", "fresh")), learning},
		{"R6 PUT 201 that is not terminal is followed", of(row(Pending), p),
			Answered{ID: letter('p'), Outcome: Succeeded, Status: 201, ProvisioningState: "Creating"},
			of(row(Live, "followPut", "fresh")), learning},
		{"R3 PUT 201 Failed is terminal", of(row(Pending), p),
			Answered{ID: letter('p'), Outcome: Succeeded, Status: 201, ProvisioningState: "Failed"},
			of(row(Live, "fresh")), learning},
		{"R3 DELETE 204 removes", of(row(Live), d), del(Gone), of(nil), removal},
		{"R3 DELETE 204 ends a followed delete", of(row(Deleting, "followDelete", "verify"), d), del(Gone), of(nil), removal},
		{"R3 DELETE 204 leaves other DELETEs open", of(row(Live), d, open('e', Delete)), del(Gone), of(nil, open('e', Delete)), removal},
		{"R3 DELETE 204 of nothing leaves a tombstone", of(nil, d), del(Gone), of(nil), Actions{Settled: true, Tombstone: true}},
		{"R3 DELETE 202", of(row(Live, "verify"), d), del(Accepted), of(row(Deleting, "followDelete", "verify", "fresh")), proof},
		{"R3 DELETE 202 of nothing", of(nil, d), del(Accepted), of(nil), Actions{Settled: true, Tombstone: true}},
		{"R3 PUT 200 after another write", of(row(Live), open('p', Put, "touched")), answer(200, Succeeded),
			of(row(Live, "verify", "fresh")), learning},
		{"R3 PATCH 200", of(row(Live), u), patched(Succeeded, "Succeeded"), of(row(Live, "fresh")), learning},
		{"R3 PATCH 200 shows that a create came about", of(row(Pending), p, u), patched(Succeeded, ""), of(row(Live, "fresh"), p), learning},
		{"R3 PATCH 200 after another write", of(row(Pending), p, open('u', Patch, "touched")), patched(Succeeded, ""),
			of(row(Live, "verify", "fresh"), p), learning},
		{"R3 PATCH 202 is followed", of(row(Live), u), patched(Accepted, ""), of(row(Live, "followPatch", "fresh")), learning},
		{"R3 PATCH 200 that shows nothing is asked for", of(row(Live), u), Answered{ID: letter('u'), Outcome: Accepted, Status: 200}, of(row(Live, "verify", "fresh")), learning},
		{"R6 PATCH 200 that is not terminal is followed", of(row(Live), u), patched(Succeeded, "Updating"), of(row(Live, "followPatch", "fresh")), learning},
		{"R6 a newer PATCH takes the place of one that counts as lost", of(row(Live, "followPatch"), u), patched(Accepted, ""),
			of(row(Live, "followPatch", "verify", "fresh"), open('u', Patch, "ended")), learning},
		{"R3 PATCH 200 of what is gone", of(nil, u), patched(Succeeded, ""), of(nil), Actions{Tombstone: true}},

		// R4: how intents end.
		{"R4 no answer to a PUT leaves it open and flags", of(row(Pending), p), answer(0, Ambiguous), of(row(Pending, "verify", "fresh"), open('p', Put, "ended")), nothing},
		{"R4 no answer to a DELETE leaves it open and flags", of(row(Live), d), del(Ambiguous), of(row(Live, "verify", "fresh"), open('d', Delete, "ended")), nothing},
		{"R4 no answer to a DELETE of nothing", of(nil, d), del(Ambiguous), of(nil, open('d', Delete, "ended")), nothing},
		{"R4 a refused create takes its row along", of(row(Pending), open('p', Put, "made")), answer(400, Refused), of(nil),
			Actions{Settled: true, Orphaned: true}},
		{"R4 but not what another write touched", of(row(Pending), open('p', Put, "made", "touched")), answer(400, Refused),
			of(row(Pending, "verify", "fresh")), proof},
		{"R4 nor what it did not make", of(row(Pending), p), answer(400, Refused), of(row(Pending, "verify", "fresh")), proof},
		{"R4 409 may mean that it exists", of(row(Pending), open('p', Put, "made")), answer(409, Refused), of(row(Pending, "verify", "fresh")), proof},
		{"R4 412 may mean that it exists", of(row(Pending), open('p', Put, "made")), answer(412, Refused), of(row(Pending, "verify", "fresh")), proof},
		{"R4 423 may mean that it exists", of(row(Pending), open('p', Put, "made")), answer(423, Refused), of(row(Pending, "verify", "fresh")), proof},
		{"R4 429 may mean that it exists", of(row(Pending), open('p', Put, "made")), answer(429, Refused), of(row(Pending, "verify", "fresh")), proof},
		{"R4 a refused update changes nothing", of(row(Live), p), answer(400, Refused), of(row(Live, "fresh")), proof},
		{"R4 a refused DELETE changes nothing", of(row(Live), d), del(Refused), of(row(Live, "fresh")), proof},
		{"R4 a refused DELETE of nothing", of(nil, d), del(Refused), of(nil), proof},
		{"R4 an unsent create takes its row along", of(row(Pending), open('p', Put, "made")), answer(0, NotSent), of(nil),
			Actions{Settled: true, Orphaned: true}},
		{"R4 an unsent PUT leaves what others touched", of(row(Pending), open('p', Put, "made", "touched"), open('q', Put)), answer(0, NotSent),
			of(row(Pending, "verify", "fresh"), open('q', Put)), proof},
		{"R4 an unsent DELETE changes nothing", of(row(Deleting), d), del(NotSent), of(row(Deleting, "fresh")), proof},
		{"R4 no answer to a PATCH leaves it open and flags", of(row(Live), u), patched(Ambiguous, ""), of(row(Live, "verify", "fresh"), open('u', Patch, "ended")), nothing},
		{"R4 a refused PATCH changes nothing", of(row(Live), u), patched(Refused, ""), of(row(Live, "fresh")), proof},
		{"R4 an unsent PATCH changes nothing", of(row(Pending), p, u), patched(NotSent, ""), of(row(Pending, "fresh"), p), proof},
		{"R4 time ends a PATCH and flags", of(row(Live), u), TimePassed{Now: 100}, of(row(Live, "verify", "fresh")), nothing},
		{"R4 time ends a PATCH of what is gone", of(nil, u), TimePassed{Now: 100}, of(nil), Actions{Tombstone: true}},
		{"R4 time ends a PUT and flags", of(row(Pending), p), TimePassed{Now: 100}, of(row(Pending, "verify", "fresh")), nothing},
		{"R4 time ends a DELETE and flags", of(row(Live), d), TimePassed{Now: 101}, of(row(Live, "verify", "fresh")), parting},
		{"R10 time ends a DELETE after a PUT: what was below may be gone", of(row(Live, "fresh"), p, open('d', Delete, "spoiled")), TimePassed{Now: 100},
			of(row(Live, "verify", "fresh")), parting},
		{"R4 time ends a DELETE of nothing", of(nil, d), TimePassed{Now: 100}, of(nil), Actions{Tombstone: true}},
		{"R4 never sooner", of(row(Live), p, d), TimePassed{Now: 99}, of(row(Live), p, d), nothing},

		// R5: an answer that something could overturn only flags.
		{"R5 spoiled PUT 200", of(row(Pending), open('p', Put, "spoiled")), answer(200, Succeeded), of(row(Pending, "verify", "fresh")), nothing},
		{"R5 spoiled PUT 202", of(row(Live), open('p', Put, "spoiled")), answer(202, Accepted), of(row(Live, "verify", "followPut", "fresh")), nothing},
		{"R5 spoiled DELETE 204", of(row(Live), open('d', Delete, "spoiled"), p), del(Gone), of(row(Live, "verify", "fresh"), p), parting},
		{"R5 spoiled DELETE 202", of(row(Live), open('d', Delete, "spoiled")), del(Accepted), of(row(Live, "verify", "followDelete", "fresh")), nothing},
		{"R5 spoiled PATCH 200", of(row(Pending), open('u', Patch, "spoiled")), patched(Succeeded, ""), of(row(Pending, "verify", "fresh")), nothing},
		{"R5 a PATCH's answer never lifts verify", of(row(Live, "verify"), u), patched(Succeeded, ""), of(row(Live, "verify", "fresh")), learning},
		{"R5 GET 404 while a PATCH is open", of(row(Live), u), missing, of(nil, u), removal},
		{"R5 GET 200 while a PATCH is open", of(row(Live, "verify"), u), got(""), of(row(Live, "fresh"), u), learning},
		{"R5 DELETE 204 while a PATCH is open", of(row(Live), d, u), del(Gone), of(nil, u), removal},
		{"R5 a PUT's answer never lifts verify", of(row(Pending, "verify"), p), answer(201, Succeeded), of(row(Live, "verify", "fresh")), learning},
		{"R5 GET 200 while a DELETE is open is shown, and proves nothing", of(row(Pending), d), got(""), of(row(Live, "verify", "fresh"), d), Actions{Learn: true}},
		{"R5 GET 404 while a PUT is open is shown, and proves nothing", of(row(Live), p), missing, of(row(Pending, "verify", "fresh"), p), nothing},
		{"R5 GET 404 while a PUT is open and another followed", of(row(Live, "followPut"), p), missing, of(row(Live, "followPut", "verify", "fresh"), p), nothing},
		{"R5 a followed create opposes a DELETE", of(row(Pending, "followPut")), Intended{letter('d'), Delete, 90, 100},
			of(row(Pending, "followPut", "fresh"), after90(open('d', Delete, "spoiled", "fresh"))), nothing},
		{"R5 a followed delete opposes a PUT", of(row(Deleting, "followDelete")), Intended{letter('p'), Put, 90, 100},
			of(row(Deleting, "followDelete", "fresh"), after90(open('p', Put, "spoiled", "fresh"))), nothing},
		{"R5 GET 200 while a PUT is open", of(row(Pending, "verify"), p), got(""), of(row(Live, "fresh"), p), learning},
		{"R5 GET 404 while a DELETE is open", of(row(Live, "verify"), d), missing, of(nil, d), removal},

		// R6: a GET is the end of doubt.
		{"R6 GET 200 lifts verify", of(row(Live, "verify")), got("Succeeded"), of(row(Live, "fresh")), learning},
		{"R6 Failed is terminal and keeps the row, also after a delete", of(row(Deleting, "verify")), got("failed"), of(row(Live, "fresh")), learning},
		{"R6 GET 404 removes", of(row(Deleting, "followDelete")), missing, of(nil), removal},
		{"R6 GET 200 Deleting is no end", of(row(Live, "verify")), got("Deleting"), of(row(Deleting, "verify", "fresh")), Actions{Learn: true}},
		{"R6 GET 200 Updating is no end", of(row(Live)), got("Updating"), of(row(Live, "verify", "fresh")), Actions{Learn: true}},
		{"R6 GET 200 Creating shows a followed create", of(row(Pending, "followPut")), got("Creating"),
			of(row(Live, "followPut", "fresh")), Actions{Learn: true}},
		{"R6 GET 200 ends no followed delete", of(row(Deleting, "followDelete")), got(""), of(row(Deleting, "followDelete")), nothing},
		{"R6 GET 200 ends no followed PATCH", of(row(Live, "followPatch", "verify")), got(""), of(row(Live, "followPatch", "fresh")), learning},
		{"R5 a followed PATCH opposes nothing", of(row(Live, "followPatch")), Intended{letter('d'), Delete, 90, 100},
			of(row(Live, "followPatch", "fresh"), after90(open('d', Delete, "fresh"))), nothing},
		{"R5 GET 404 while a PATCH is followed", of(row(Live, "followPatch")), missing, of(nil), removal},
		{"R6 GET 200 Updating while a PATCH is followed", of(row(Live, "followPatch")), got("Updating"), of(row(Live, "followPatch", "fresh")), Actions{Learn: true}},
		{"R6 the end of a PATCH's operation flags", of(row(Live, "followPatch")), FollowEnded{Patch}, of(row(Live, "verify", "fresh")), nothing},
		{"R6 a PATCH's operation that is lost is asked for now, and when its time is over", of(row(Live, "followPatch")), FollowLost{letter('u'), Patch, 100},
			of(row(Live, "verify", "fresh"), open('u', Patch, "ended", "fresh")), nothing},
		{"R9 GET 404 ends no followed create", of(row(Pending, "followPut")), missing, of(row(Pending, "followPut")), nothing},
		{"R6 the end of an operation flags", of(row(Deleting, "followDelete")), FollowEnded{Delete}, of(row(Deleting, "verify", "fresh")), parting},
		{"R6 the end of a create's operation flags", of(row(Pending, "followPut")), FollowEnded{Put}, of(row(Pending, "verify", "fresh")), nothing},
		{"R6 one operation's end is not another's", of(row(Deleting, "followDelete", "followPut")), FollowEnded{Put},
			of(row(Deleting, "followDelete", "verify", "fresh")), nothing},
		{"R6 an operation that is lost counts as a write without an answer", of(row(Pending, "followPut"), d), FollowLost{letter('p'), Put, 100},
			of(row(Pending, "verify", "fresh"), open('d', Delete, "spoiled"), open('p', Put, "spoiled", "ended", "fresh")), nothing},
		{"R6 an operation that is lost, of which nothing was followed", of(row(Live)), FollowLost{letter('p'), Put, 100}, of(row(Live)), nothing},
		{"R6 a newer operation takes the place of one that counts as lost", of(row(Live, "followPut"), p), answer(202, Accepted),
			of(row(Live, "followPut", "verify", "fresh"), open('p', Put, "ended")), learning},
		{"R3 a DELETE's 404 that speaks of something else flags", of(row(Live), d), Answered{ID: letter('d'), Outcome: Refused, Status: 404},
			of(row(Live, "verify", "fresh")), Actions{Settled: true}},
		{"R6 the end of an operation that was not followed", of(row(Live, "followPut")), FollowEnded{Delete}, of(row(Live, "followPut")), nothing},
		{"R6 the end of an operation on nothing", of(nil), FollowEnded{Delete}, of(nil), nothing},

		// R7: generations and open intents decide.
		{"R7 GET 404 of another generation", of(row(Live, "fresh")), missing, of(row(Live, "fresh")), nothing},
		{"R7 GET 200 of another generation", of(row(Pending, "verify", "fresh")), got(""), of(row(Pending, "verify", "fresh")), nothing},
		{"R7 GET of what is gone", of(nil), got(""), of(nil), nothing},
		{"R7 an answer whose intent has ended", of(row(Live)), answer(200, Succeeded), of(row(Live)), nothing},
		{"R7 a delete's answer whose intent has ended", of(row(Live)), del(Gone), of(row(Live)), nothing},
	} {
		t.Run(c.name, func(t *testing.T) {
			before := c.before.clone()
			after, did := Settle(c.before, c.event, fresh)
			if len(after.Open) == 0 {
				after.Open = nil
			}
			if !reflect.DeepEqual(after, c.after) {
				t.Errorf("after %s\nwant  %s", describe(after), describe(c.after))
			}
			if did != c.did {
				t.Errorf("actions %+v, want %+v", did, c.did)
			}
			if !reflect.DeepEqual(c.before, before) {
				t.Errorf("the state it was given has changed")
			}
		})
	}
}

func TestOutcomes(t *testing.T) {
	for _, c := range []struct {
		kind   WriteKind
		status int
		want   Outcome
	}{
		{Put, 200, Succeeded}, {Put, 201, Succeeded}, {Put, 202, Accepted}, {Put, 404, Refused},
		{Put, 300, Refused}, {Put, 304, Refused}, {Delete, 300, Refused}, {Put, 408, Ambiguous}, {Put, 500, Ambiguous}, {Put, 101, Ambiguous},
		{Delete, 200, Gone}, {Delete, 204, Gone}, {Delete, 404, Gone}, {Delete, 202, Accepted},
		{Delete, 307, Refused}, {Delete, 409, Refused}, {Delete, 429, Refused}, {Delete, 408, Ambiguous}, {Delete, 503, Ambiguous},
	} {
		if got := ReadAnswer(c.kind, c.status, true); got != c.want {
			t.Errorf("%v %d: %v, want %v", c.kind, c.status, got, c.want)
		}
	}
	if got := ReadAnswer(Delete, 404, false); got != Refused {
		t.Errorf("a DELETE's 404 that speaks of something else is %v, want Refused", got)
	}
}

// A success that shows no resource says of a PUT or PATCH only that it was accepted.
func TestOutcomesOfAnswersWithoutAResource(t *testing.T) {
	for _, c := range []struct {
		kind   WriteKind
		status int
		want   Outcome
	}{
		{Put, 200, Accepted}, {Put, 201, Accepted}, {Put, 204, Accepted}, {Put, 202, Accepted}, {Patch, 200, Accepted},
		{Put, 300, Refused}, {Put, 409, Refused}, {Put, 500, Ambiguous}, {Patch, 404, Refused},
		{Delete, 200, Ambiguous}, {Delete, 204, Ambiguous}, {Delete, 202, Accepted}, {Delete, 409, Refused}, {Move, 200, Succeeded}, {Move, 204, Succeeded},
	} {
		if got := ReadAnswer(c.kind, c.status, false); got != c.want {
			t.Errorf("%v %d: %v, want %v", c.kind, c.status, got, c.want)
		}
	}
}

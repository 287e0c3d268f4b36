package operations

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"time"

	"go.uber.org/zap"

	"portico/arm"
	"portico/inventory"
	"portico/regions"
	"portico/routing"
)

// membersAtOnce is how many members are read and recorded at a time.
const membersAtOnce = 500

// memory is what is recorded of a member.
type memory struct {
	State     memberState `json:"state,omitempty"`
	Silent    bool        `json:"silent,omitempty"`
	Due       time.Time   `json:"due,omitzero"`
	Since     time.Time   `json:"since,omitzero"`
	Tries     int         `json:"tries,omitempty"`
	Why       string      `json:"why,omitempty"`
	Tried     int         `json:"tried,omitempty"`
	Blind     bool        `json:"blind,omitempty"`
	RefusedAt int         `json:"refusedAt,omitempty"`
	Blockers  []string    `json:"blockers,omitempty"`
}

func memoryOf(m *member) memory {
	return memory{m.state, m.silent, m.due, m.since, m.tries, m.why, m.tried, m.blind, m.refusedAt, m.blockers}
}

// recall gives a member what was recorded of it. Of a row the inventory knows
// what was accepted; of a stray nobody else does.
func (m *member) recall(r memory) {
	m.silent, m.due, m.since, m.tries, m.why, m.tried = r.Silent, r.Due, r.Since, r.Tries, r.Why, r.Tried
	m.blind, m.refusedAt = r.Blind, r.RefusedAt
	switch {
	case r.State == memberParked:
		m.state, m.blockers = memberParked, r.Blockers
	case r.State == memberAccepted && inventory.IsStrayKey(m.key):
		m.state = memberAccepted
	}
}

// load makes the plan from what the inventory holds.
func (w *deletionWork) load(ctx context.Context) error {
	orders, err := w.Asker.Store.TypeOrders(ctx, w.held.Job.Subscription)
	if err != nil {
		return err
	}
	known := make([]typeOrder, len(orders))
	for i, o := range orders {
		known[i] = typeOrder{o.Before, o.After}
	}
	w.plan, w.errors, w.came = newDeletion(w.limits(), known), map[string]string{}, 0
	w.gone, w.asked = map[string][16]byte{}, map[string][16]byte{}
	recalled := map[string]memory{}
	for after := ""; ; {
		page, err := w.Asker.Store.DeletionMembers(ctx, w.held.Job, after, membersAtOnce)
		if err != nil {
			return err
		}
		for _, r := range page {
			var m memory
			if after = r.Key; json.Unmarshal([]byte(r.Payload), &m) == nil { // none of an error alone
				recalled[r.Key] = m
			}
		}
		if len(page) < membersAtOnce {
			break
		}
	}
	if err := w.find(ctx, recalled, func(string) {}); err != nil {
		return err
	}
	for _, m := range w.plan.members {
		w.plan.missing(m)
	}
	was := w.payload.Progress
	w.plan.resume(was.Total, was.Deleted, w.came, was.Pass)
	if len(recalled) == 0 && w.payload.Progress.Total == 0 {
		w.note("group delete begins", zap.Int("resources", len(w.plan.members)))
	}
	return nil
}

// find goes through what the group holds, takes in what the plan does not know,
// and shows it the rest.
func (w *deletionWork) find(ctx context.Context, recalled map[string]memory, found func(key string)) error {
	var fresh []inventory.Resource
	for after := ""; ; {
		page, err := w.Asker.Store.Resources(ctx, inventory.ResourceQuery{
			Subscription: w.held.Job.Subscription, Group: w.held.Job.Subject, After: after, Limit: membersAtOnce,
		})
		if err != nil {
			return err
		}
		for _, row := range page {
			after = row.Key
			found(row.Key)
			if generation, is := w.gone[row.Key]; is && generation == row.Generation {
				continue // nothing is there; the row goes with the group
			}
			if w.plan.members[row.Key] == nil {
				w.take(row, recalled)
				fresh = append(fresh, inventory.Resource{Key: row.Key, Parent: row.Parent, Verify: row.Verify})
			} else if err := w.show(ctx, row); err != nil {
				return err
			}
		}
		if len(page) < membersAtOnce {
			break
		}
	}
	for _, row := range fresh { // what it lay below has gone: it is asked for
		if m := w.plan.members[row.Key]; row.Verify && row.Parent != "" && w.plan.members[row.Parent] == nil && m.state == memberWaiting {
			w.plan.await(m)
			m.orphan = true
		}
	}
	strays, err := w.Asker.Store.Strays(ctx, w.held.Job.Subscription, w.held.Job.Subject)
	if err != nil {
		return err
	}
	for _, stray := range strays {
		key := stray.MemberKey()
		found(key)
		w.strays[key] = stray
		if w.plan.members[key] == nil {
			w.takeStray(stray, recalled)
		}
	}
	return nil
}

// followed tells whether others find out what becomes of a row.
func followed(row inventory.Resource) bool {
	return row.FollowDelete || row.Phase == inventory.Deleting
}

func (w *deletionWork) take(row inventory.Resource, recalled map[string]memory) {
	m := &member{key: row.Key, typ: row.Type, region: row.Region, parent: row.Parent, manager: arm.Fold(row.Details.ManagedBy)}
	if q, endpoint, err := w.Asker.Target(row); err == nil {
		m.endpoint, m.refuses = endpoint.Region+" "+endpoint.String(), q.Type.DeletionPolicy == regions.Refuse
	}
	if r, known := recalled[row.Key]; known {
		m.recall(r)
		if r.State == memberAccepted && row.FollowPut { // its DELETE found nothing yet
			m.state, m.orphan = memberAccepted, true
		}
	}
	if followed(row) {
		m.state, m.blockers = memberAccepted, nil
	}
	w.admit(m, row.Created)
}

// admit adds a member to the plan that has been there since then.
func (w *deletionWork) admit(m *member, since time.Time) {
	if since.After(w.payload.Saved) {
		w.came++
	}
	w.plan.add(m)
}

func (w *deletionWork) takeStray(stray inventory.Stray, recalled map[string]memory) {
	m := &member{key: stray.MemberKey(), typ: stray.Type, region: stray.Region}
	if _, endpoint, err := w.Asker.Target(rowOf(stray)); err == nil {
		m.endpoint = endpoint.Region + " " + endpoint.String()
	}
	if r, known := recalled[m.key]; known {
		m.recall(r)
	}
	w.admit(m, stray.Seen)
}

// rowOf is what is needed to ask for a stray, and to call for it.
func rowOf(stray inventory.Stray) inventory.Resource {
	return inventory.Resource{
		Subscription: stray.Subscription, Key: stray.Key, ID: stray.ID, Group: stray.Group, Type: stray.Type, TypeName: stray.Type, Region: stray.Region,
	}
}

// show compares a member with its row.
func (w *deletionWork) show(ctx context.Context, row inventory.Resource) error {
	m := w.plan.members[row.Key]
	s := sight{
		accepted: followed(row) || m.state == memberAccepted && !m.orphan && row.Verify,
		doubted:  row.Verify || row.FollowPut, said: said{result: resultRefused},
	}
	if m.state == memberAccepted && glimpsedAbsent(row) {
		return w.showAbsent(ctx, row)
	}
	if m.state == memberAccepted && !s.accepted && !m.orphan {
		text, err := w.Asker.Store.DeletionError(ctx, w.held.Job, row.Key)
		if err != nil {
			return err
		}
		s.said.blockers, s.said.named = w.blockers(row.Key, text)
	}
	w.plan.see(row.Key, s)
	return nil
}

// glimpsedAbsent tells whether a GET found nothing of a row's resource, and a write
// of unknown fate keeps that from being proof.
func glimpsedAbsent(row inventory.Resource) bool {
	return row.Phase == inventory.Pending && row.Verify && !row.FollowPut && !row.FollowDelete
}

// showAbsent asks once more for what a verification did not find, once for each
// generation of its row.
func (w *deletionWork) showAbsent(ctx context.Context, row inventory.Resource) error {
	if w.asked[row.Key] == row.Generation {
		return nil
	}
	w.asked[row.Key] = row.Generation
	sight, err := w.Asker.Probe(ctx, w.header(), row)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if a := absence(row, sight, err); a.said.result == resultGone {
		w.remember(row.Key, a)
		w.plan.vanish(row.Key)
	}
	return nil
}

// refresh brings the plan up to what the inventory holds now.
func (w *deletionWork) refresh(ctx context.Context) error {
	w.look = false
	if err := w.askStrays(ctx); err != nil {
		return err
	}
	found := make(map[string]bool, len(w.plan.members))
	if err := w.find(ctx, nil, func(key string) { found[key] = true }); err != nil {
		return err
	}
	for key := range w.plan.members {
		if !found[key] {
			w.plan.vanish(key)
		}
	}
	return nil
}

// askStrays asks for the strays whose delete was accepted: nobody else does.
func (w *deletionWork) askStrays(ctx context.Context) error {
	for key, stray := range w.strays {
		m := w.plan.members[key]
		if m == nil || m.state != memberAccepted {
			continue
		}
		answer, err := w.Asker.Get(ctx, w.header(), rowOf(stray))
		switch {
		case err != nil:
		case answer.Status == http.StatusNotFound:
			if _, err := w.Asker.Store.ForgetStray(ctx, stray); err != nil {
				return err
			}
			w.plan.vanish(key)
		case inventory.Terminal(inventory.ReadObservation(answer.Body).ProvisioningState):
			w.plan.see(key, sight{said: said{result: resultRefused}})
		}
	}
	return nil
}

// blockers are the members that a refusal names.
func (w *deletionWork) blockers(self, text string) ([]string, bool) {
	scope := arm.Fold(routing.GroupID(w.held.Job.Subscription, w.held.Job.Subject)) + "/"
	return blockersIn(text, scope, self, func(key string) bool { return w.plan.members[key] != nil })
}

// header carries the ids of a call, and on whose behalf it is made.
func (w *deletionWork) header() http.Header {
	header := headerOf(w.payload.Correlation, w.Region)
	w.payload.Caller.Stamp(header)
	return header
}

// learn records what the deletion has learnt, for later ones.
func (w *deletionWork) learn(ctx context.Context) error {
	if w.plan.end() != endNone {
		w.plan.conclude()
	}
	if len(w.plan.learnt) == 0 {
		return nil
	}
	learnt := make([]inventory.TypeOrder, len(w.plan.learnt))
	for i, o := range w.plan.learnt {
		learnt[i] = inventory.TypeOrder{Before: o.Before, After: o.After}
	}
	err := w.Asker.Store.LearnTypeOrders(ctx, w.held.Job.Subscription, learnt)
	if err == nil {
		w.plan.learnt = nil
	}
	return err
}

// save records how far the deletion has come.
func (w *deletionWork) save(ctx context.Context) error {
	w.saved = time.Now()
	w.payload.Progress, w.payload.Saved = w.plan.progress(), w.now()
	w.tells(w.waiting())
	if err := w.learn(ctx); err != nil {
		return err
	}
	payload := w.payload.String()
	for first := true; ; first = false {
		page := w.changed()
		if len(page) == 0 && !first {
			return nil
		}
		if err := w.Asker.Store.SaveDeletion(ctx, &w.held.Job, payload, page); err != nil {
			return err
		}
		payload = ""
	}
}

// changed are members of which something else is to be recorded than was, at
// most a page of them. Those in flight will have an answer.
func (w *deletionWork) changed() (page []inventory.DeletionMember) {
	for key, m := range w.plan.members {
		if !m.changed || m.state == memberInFlight {
			continue
		}
		if len(page) == membersAtOnce {
			break
		}
		text, err := json.Marshal(memoryOf(m))
		if err != nil { // all of it has a JSON form
			continue
		}
		m.changed = false
		page = append(page, inventory.DeletionMember{Key: key, Payload: string(text), Error: w.errors[key]})
		delete(w.errors, key)
	}
	return page
}

func (w *deletionWork) note(what string, fields ...zap.Field) {
	w.Log.Info(what, append(fields, zap.String("group", strings.ToValidUTF8(w.payload.Group, "\uFFFD")),
		zap.String("subscription", w.held.Job.Subscription), zap.String("job", w.held.Job.Name()), zap.String("correlationId", w.payload.Correlation))...)
}

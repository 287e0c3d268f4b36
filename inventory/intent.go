package inventory

import (
	"context"
	"errors"
	"time"

	"portico/arm"
	"portico/inventory/engine"
	"portico/inventory/index"
	"portico/inventory/transaction"
)

// Write is a PUT, PATCH or DELETE of a tracked resource that is about to be sent.
type Write struct {
	Kind         index.WriteKind
	Subscription string
	Group        string
	Key          string // of the resource
	ID           string // as the request wrote it
	Type         string // full type
	Namespace    string // the subscription must be registered for it, unless it is empty
	TypeName     string // full type as declared
	Name         string // as written, "parent/child" for a nested resource; empty: as in ID
	Parent       string // key of the tracked parent that a PUT needs, or empty
	Region       string // of the endpoint
	Location     string // normalised; if empty, it is not compared with the row's
	APIVersion   string
	Sender       string // name of the replica that sends it
	// Creator and Created are for a row that this write creates; the zero time means now.
	Creator Creator
	Created time.Time

	// Version, if set, is the version of the subscription under which the write was
	// admitted. Begin returns ErrScopeChanged if it has changed.
	Version int64
	// Incarnation, if set, is the expected incarnation of the group.
	Incarnation [16]byte
	// OfGroupDelete: the job that deletes the group sends the write; the group must be
	// Deleting.
	OfGroupDelete bool
	// Generation, if set, is the expected generation of the row. Begin returns ErrChanged
	// if it has changed.
	Generation [16]byte
	// LateWriteWindow is the type's; 0 means Options.LateWriteWindow.
	LateWriteWindow time.Duration

	plan Planned // see [Store.TryPlanned]
}

// Ticket is the right to send one write, and the key to settle its answer.
type Ticket struct {
	Subscription, Key string
	Kind              index.WriteKind
	ID, APIVersion    string
	Intent            [16]byte
	Generation        [16]byte // of the row now; zero without one
	CreatedRow        bool     // this write created the row
	Row               *Resource
	// SendBy is the store time after which the first byte must not be sent, and NotAfter
	// the time by which the call has ended.
	SendBy, NotAfter time.Time

	left resourceState // as Begin left the resource
}

const (
	intentsFrom  = `SELECT key, id, kind, generation, created_row, overlapped, call_ended, not_after, ends FROM intents WHERE subscription = ?`
	lockIntents  = intentsFrom + ` AND key = ? ORDER BY id` + engine.ForUpdate
	insertIntent = `INSERT INTO intents
		(subscription, key, id, kind, resource_group, type, region, api_version, sender, generation, created_row, overlapped, call_ended,
			send_by, not_after, ends)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (subscription, key, id) DO NOTHING`
	markIntent          = `UPDATE intents SET overlapped = ?, call_ended = ? WHERE subscription = ? AND key = ? AND id = ?`
	deleteIntent        = `DELETE FROM intents WHERE subscription = ? AND key = ? AND id = ?`
	insertWrittenRegion = `INSERT INTO written_regions (subscription, resource_group, incarnation, type, region)
		VALUES (?, ?, ?, ?, ?) ON CONFLICT (subscription, resource_group, incarnation, type, region) DO NOTHING`
)

func scanIntent(scan engine.Scanner) (key string, in index.Intent, err error) {
	var id, generation []byte
	err = scan(&key, &id, &in.Kind, &generation, &in.CreatedRow, &in.Overlapped, &in.CallEnded, &in.NotAfter, &in.Ends)
	copy(in.ID[:], id)
	copy(in.Generation[:], generation)
	return key, in, err
}

// Begin durably records that a write is about to be sent; no byte of the write may be sent
// before Begin has returned. In one transaction it checks
//   - that the subscription admits the write (ErrSubscriptionNotFound,
//     *SubscriptionStateError) and has not changed since the write was admitted
//     (ErrScopeChanged),
//   - that the group exists and is Active (index.ErrGroupNotFound, *index.GroupStateError),
//   - that the subscription is registered for the namespace (*RegistrationStateError),
//   - that the row is in the region of the write and, for a PUT, has its location
//     (*LocationConflictError),
//   - that there is a row for a PATCH (ErrNotFound), and the parent for a PUT
//     (ErrParentNotFound, ErrParentMoved),
//   - that a new row fits the quota (*transaction.QuotaError), and there is no fence on its
//     ID (*FencedError),
//   - and that no lock forbids the write (*LockedError).
//
// Then it records the intent, creates the row of a create, and marks open writes that
// oppose each other.
//
// The caller should pass every ticket to Settle. Otherwise the intent ends by time, and
// its row is flagged for verification.
func (s *Store) Begin(ctx context.Context, w Write) (Ticket, error) {
	w.Subscription, w.Group, w.Key = arm.Fold(w.Subscription), arm.Fold(w.Group), arm.Fold(w.Key)
	w.Type, w.Parent, w.Namespace = arm.Fold(w.Type), arm.Fold(w.Parent), arm.Fold(w.Namespace)
	if w.Name == "" {
		w.Name = nameIn(w.ID, w.Type)
	}
	if w.LateWriteWindow <= 0 {
		w.LateWriteWindow = s.options.LateWriteWindow
	}
	locks := writeLocks(w.Subscription, w.Group, w.Namespace, w.requiredParent(), w.Key)
	if w.Kind == index.Put {
		locks.Rows = append(locks.Rows, engine.Row{Kind: transaction.FenceRow})
	}
	b, err := w.beginning(ctx, s.database)
	if err != nil {
		return Ticket{}, err
	}
	return commit(ctx, s, engine.Flushed, locks, func(t *tx) (Ticket, error) {
		incarnation, err := w.admitToScope(t)
		if err != nil {
			return Ticket{}, err
		}
		if err := w.admittedByRegistration(t); err != nil {
			return Ticket{}, err
		}
		if err := w.admittedByLocks(t); err != nil {
			return Ticket{}, err
		}
		// Every transaction that locks a parent and its child locks the parent first.
		refusal, err := w.lockParent(t)
		if err != nil {
			return Ticket{}, err
		}
		h, err := lockResource(t, w.Subscription, w.Key)
		if err != nil {
			return Ticket{}, err
		}
		if err := t.admit(w, h, refusal); err != nil {
			return Ticket{}, err
		}
		if err := t.recordRegion(writtenRegion{w.Subscription, w.Group, incarnation, w.Type, w.Region}); err != nil {
			return Ticket{}, err
		}
		return t.recordIntent(h, w, b)
	})
}

// recordRegion records a written region of a group, once for all writes of the transaction.
func (t *tx) recordRegion(to writtenRegion) error {
	if t.locked.written[to] {
		return nil
	}
	t.locked.written[to] = true
	return t.Later(insertWrittenRegion, to.subscription, to.group, to.incarnation[:], to.typ, to.region)
}

func (w *Write) admitToScope(t *tx) (incarnation [16]byte, err error) {
	s, err := openScopeState(t, w.Subscription, w.Group, w.Kind == index.Delete)
	group := s.group
	switch {
	case errors.Is(err, ErrNotFound):
		return incarnation, index.ErrGroupNotFound
	case err != nil:
		return incarnation, err
	case w.Version != 0 && s.version != w.Version:
		return incarnation, ErrScopeChanged
	}
	return group.Incarnation, index.AdmitWrite(&index.Group{State: group.State, Incarnation: group.Incarnation}, w.Incarnation, w.OfGroupDelete)
}

func (t *tx) admit(w Write, h *resourceTx, refusal error) error {
	row := h.row
	if w.Generation != [16]byte{} && (row == nil || row.Generation != w.Generation) {
		return ErrChanged
	}
	if row != nil && w.conflictsWith(row) {
		return &LocationConflictError{Row: *row, RemovalOpen: h.state().RemovalOpen()}
	}
	switch {
	case w.Kind == index.Delete:
		return nil
	case w.Kind == index.Patch && row == nil:
		return ErrNotFound
	case refusal != nil:
		return refusal
	case row != nil:
		return nil
	}
	if err := t.checkNoFence(w.Subscription, w.Key); err != nil {
		return err
	}
	err := t.RaiseUsage(transaction.UsageOf(w.Subscription, w.Group, w.Type), int64(1+w.plan.Created), t.store.options.Limits.ResourcesPerTypeAndGroup)
	if quota, ok := errors.AsType[*transaction.QuotaError](err); ok {
		quota.Current += w.plan.Created
	}
	return err
}

// conflictsWith reports whether the row is in another region than the write or, for a PUT,
// in another location.
func (w *Write) conflictsWith(row *Resource) bool {
	return index.Conflicts(w.Kind, index.Placement{Region: w.Region, Location: w.Location}, index.Placement{Region: row.Region, Location: row.Location})
}

// requiredParent returns the key of the parent that must exist, "" if none must.
func (w *Write) requiredParent() string {
	if w.Kind != index.Put {
		return ""
	}
	return w.Parent
}

// lockParent locks the parent that a PUT needs. refusal is the error if the parent is
// missing or lies in another region.
func (w *Write) lockParent(t *tx) (refusal, err error) {
	above := w.requiredParent()
	if above == "" {
		return nil, nil
	}
	parent, err := t.lockRow(w.Subscription, above)
	switch {
	case errors.Is(err, ErrNotFound):
		return ErrParentNotFound, nil
	case err != nil:
		return nil, err
	case parent.Phase == index.Deleting:
		return ErrParentNotFound, nil
	case parent.Region != w.Region:
		return ErrParentMoved, nil
	}
	return nil, nil
}

func (t *tx) recordIntent(h *resourceTx, w Write, b beginning) (Ticket, error) {
	sendBy := t.Now.Add(t.store.options.SendWithin)
	notAfter := t.Now.Add(t.store.options.CallLimit + t.store.options.CallMargin)
	e := index.Intended{ID: b.intent, Kind: w.Kind, NotAfter: engine.Micros(notAfter), Ends: engine.Micros(notAfter.Add(w.LateWriteWindow))}
	ticket := Ticket{
		Subscription: w.Subscription, Key: w.Key, Kind: w.Kind, ID: w.ID, APIVersion: w.APIVersion,
		Intent: e.ID, Row: h.row, SendBy: sendBy, NotAfter: notAfter,
	}
	after, did := h.settle(t, e)
	added := after.Open[len(after.Open)-1]
	if added.CreatedRow {
		h.setCreatedRow(w.newRow(t.Now))
	}
	if after.Row != nil {
		if err := h.rememberWrite(t, b); err != nil {
			return Ticket{}, err
		}
	}
	if err := h.store(t, after, did); err != nil {
		return Ticket{}, err
	}
	err := t.ChangeOne(insertIntent, w.Subscription, w.Key, added.ID[:], added.Kind, w.Group, w.Type, w.Region,
		w.APIVersion, w.Sender, added.Generation[:], engine.Flag(added.CreatedRow), engine.Flag(added.Overlapped),
		engine.Flag(added.CallEnded), engine.Micros(sendBy), added.NotAfter, added.Ends)
	ticket.CreatedRow = added.CreatedRow
	if after.Row != nil {
		ticket.Generation = after.Row.Generation
		ticket.left = resourceState{h.stored, after.Open}
	}
	return ticket, err
}

// newRow returns the row of a create before anything is known of the resource.
func (w *Write) newRow(now time.Time) *Resource {
	created := w.Created
	if created.IsZero() {
		created = now
	}
	return &Resource{
		Subscription: w.Subscription, Key: w.Key, ID: w.ID, Group: w.Group, Type: w.Type, TypeName: w.TypeName,
		Name: w.Name, Parent: w.Parent, Region: w.Region, Location: w.Location, APIVersion: w.APIVersion,
		Creator: w.Creator, Created: created, Changed: now,
	}
}

// WrittenRegion is the type and region of a write that an incarnation of a group sent.
type WrittenRegion struct {
	Type   string // folded full type
	Region string
}

const selectWrittenRegions = `SELECT type, region FROM written_regions WHERE subscription = ? AND resource_group = ? AND incarnation = ?
	ORDER BY type, region`

func scanWrittenRegion(scan engine.Scanner) (touch WrittenRegion, err error) {
	err = scan(&touch.Type, &touch.Region)
	return touch, err
}

// WrittenRegions lists the written regions of a group's incarnation, also if a write had no
// effect; see [DeleteGroupConditions].
func (s *Store) WrittenRegions(ctx context.Context, g Group) ([]WrittenRegion, error) {
	return engine.Collect(s.engine.Read(ctx), scanWrittenRegion, selectWrittenRegions, g.Subscription, g.Key, g.Incarnation[:])
}

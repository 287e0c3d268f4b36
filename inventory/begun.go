package inventory

import (
	"context"
	"encoding/json"
	"slices"

	"portico/arm"
	"portico/events"
	"portico/inventory/engine"
	"portico/inventory/index"
	"portico/inventory/transaction"
)

// unreportedWrite is a write whose end no event has reported yet. A job, or the next
// caller that reads the resource, may learn how it ended; the event still names the caller
// that started the write.
type unreportedWrite struct {
	Intent [16]byte        `json:"intent"`
	Kind   index.WriteKind `json:"kind"`
	// Type is the folded type of the written resource. It distinguishes writes to the
	// resource itself from the deletion of an ancestor, which its descendants record too.
	Type  string       `json:"type"`
	Cause events.Cause `json:"cause"`
	// Why its operation failed; nil while unknown.
	Why *writeFailure `json:"why,omitempty"`
}

// writeFailure is the provider's reason for an operation that failed.
type writeFailure struct {
	Code    arm.Code `json:"code"`
	Message string   `json:"message"`
	Target  string   `json:"target,omitempty"`
}

// failure returns why the write failed, nil if that is unknown.
func (b *unreportedWrite) failure() *arm.Error {
	if b.Why == nil {
		return nil
	}
	return &arm.Error{Code: b.Why.Code, Message: b.Why.Message, Target: b.Why.Target}
}

// mostUnreported bounds the writes that a resource remembers: the oldest, which may be a
// client's while a job's deletion is tried again and again, and the newest.
const mostUnreported = 4

// unreportedWrites holds the unreported writes of one resource. The zero value holds
// none. It is never changed in place.
type unreportedWrites struct {
	// text is the stored form: the number of writes, their intents, and the encrypted
	// writes. Most answers drop the only write, without decrypting it.
	text  []byte
	all   []unreportedWrite
	known bool // all has been decrypted from text
}

func (b unreportedWrites) none() bool { return len(b.text) == 0 }

func (b unreportedWrites) stored() any {
	if b.none() {
		return nil
	}
	return b.text
}

// intents returns the intents of the writes, and the encrypted part of the text.
func (b unreportedWrites) intents() (ids [][16]byte, encrypted []byte) {
	if b.none() || len(b.text) < 1+16*int(b.text[0]) {
		return nil, nil
	}
	rest := b.text[1:]
	for range b.text[0] {
		ids, rest = append(ids, [16]byte(rest)), rest[16:]
	}
	return ids, rest
}

// unreportedPlace returns the context that binds the encrypted text. It is the same for
// all rows of a subscription, because the resources below a deleted resource take over
// its writes.
func unreportedPlace(sub string) []byte { return []byte("unreported " + sub) }

// read returns the writes, or none if their encryption key is gone.
func (b unreportedWrites) read(ctx context.Context, d *transaction.Database, sub string) []unreportedWrite {
	if b.known || b.none() {
		return b.all
	}
	_, encrypted := b.intents()
	text, err := d.Cipher.Decrypt(ctx, unreportedPlace(sub), encrypted)
	if err == nil {
		err = json.Unmarshal(text, &b.all)
	}
	if err != nil {
		return nil
	}
	return b.all
}

// sealUnreported returns writes in their stored form.
func sealUnreported(ctx context.Context, d *transaction.Database, sub string, all []unreportedWrite) (unreportedWrites, error) {
	if len(all) == 0 {
		return unreportedWrites{}, nil
	}
	if len(all) > mostUnreported {
		all = slices.Concat(all[:1], all[len(all)-mostUnreported+1:])
	}
	plain, err := json.Marshal(all)
	if err != nil {
		return unreportedWrites{}, err
	}
	encrypted, err := d.Cipher.Encrypt(ctx, unreportedPlace(sub), plain)
	text := append(make([]byte, 0, 1+16*len(all)+len(encrypted)), byte(len(all)))
	for _, b := range all {
		text = append(text, b.Intent[:]...)
	}
	return unreportedWrites{append(text, encrypted...), all, true}, err
}

// CauseOfWrite returns the cause of a row's latest unreported write, of the given kinds if
// there are any. It returns the zero Cause if there is no such write, or if it cannot be
// read.
func (s *Store) CauseOfWrite(ctx context.Context, row Resource, kinds ...index.WriteKind) (cause events.Cause) {
	for _, b := range row.unreported.read(ctx, s.database, row.Subscription) {
		if len(kinds) == 0 || slices.Contains(kinds, b.Kind) {
			cause = b.Cause
		}
	}
	return cause
}

func (h *resourceTx) unreported(t *tx) []unreportedWrite {
	if h.row == nil {
		return nil
	}
	return h.row.unreported.read(t.Context, t.store.database, h.subscription)
}

// beginning is a write that is about to begin: its intent, and the text for its row if the
// row remembers no other write. It is prepared before the write waits for its transaction,
// because other writes wait for that transaction too.
type beginning struct {
	intent     [16]byte
	remembered unreportedWrites
}

func (w *Write) beginning(ctx context.Context, d *transaction.Database) (b beginning, err error) {
	b.intent = engine.NewID()
	b.remembered, err = sealUnreported(ctx, d, w.Subscription, []unreportedWrite{{Intent: b.intent, Kind: w.Kind, Type: w.Type, Cause: events.CauseOf(ctx)}})
	return b, err
}

// rememberWrite records in the row which caller starts a write.
func (h *resourceTx) rememberWrite(t *tx, b beginning) error {
	before := h.unreported(t)
	if len(before) == 0 {
		h.remembered = &b.remembered
		return nil
	}
	return h.setUnreported(t, slices.Concat(before, b.remembered.all))
}

// setUnreported sets the unreported writes that store will put into the row.
func (h *resourceTx) setUnreported(t *tx, all []unreportedWrite) error {
	sealed, err := sealUnreported(t.Context, t.store.database, h.subscription, all)
	h.remembered = &sealed
	return err
}

// forgetWrite drops a write from the row once an event has reported its end.
func (h *resourceTx) forgetWrite(t *tx, intent [16]byte) error {
	if h.row == nil {
		return nil
	}
	switch ids, _ := h.row.unreported.intents(); {
	case !slices.Contains(ids, intent):
		return nil
	case len(ids) == 1:
		h.remembered = &unreportedWrites{}
		return nil
	}
	return h.setUnreported(t, slices.DeleteFunc(slices.Clone(h.unreported(t)), func(b unreportedWrite) bool { return b.Intent == intent }))
}

// forgetEndedWrites drops the writes that a GET has shown to be over from the row, and
// returns them. Writes whose calls may still be running stay, and so does a followed
// PATCH.
func (h *resourceTx) forgetEndedWrites(t *tx, after index.State) (ended []unreportedWrite, err error) {
	var left []unreportedWrite
	for _, b := range h.unreported(t) {
		if after.MayRun(b.Intent, b.Kind) {
			left = append(left, b)
		} else {
			ended = append(ended, b)
		}
	}
	if len(ended) > 0 {
		err = h.setUnreported(t, left)
	}
	return ended, err
}

// recordFailure records in the row why the operation of the latest write of a kind failed.
func (h *resourceTx) recordFailure(t *tx, kind index.WriteKind, why *arm.Error) error {
	if why == nil {
		return nil
	}
	all := slices.Clone(h.unreported(t))
	for i := len(all) - 1; i >= 0; i-- {
		if all[i].Kind == kind {
			kept := events.Bounded(all[i].Cause.LateError(why))
			all[i].Why = &writeFailure{kept.Code, kept.Message, kept.Target}
			return h.setUnreported(t, all)
		}
	}
	return nil
}

package inventory

import (
	"context"
	"encoding/json"
	"slices"

	"portico/arm"
	"portico/events"
	"portico/internal/jsontext"
	"portico/inventory/engine"
	"portico/inventory/index"
	"portico/inventory/transaction"
)

// begunWrite is a write that has begun, and of which no event says yet how it ended. Who
// learns that may be anybody: a job, or the next caller that reads the resource. The event
// names who began it all the same.
type begunWrite struct {
	Intent [16]byte        `json:"intent"`
	Kind   index.WriteKind `json:"kind"`
	// Type is the resource's, folded: what lies below it takes over what is remembered of
	// its deletion.
	Type  string       `json:"type"`
	Cause events.Cause `json:"cause"`
	// Why its operation has failed, nil as long as that is not known.
	Why *begunFailure `json:"why,omitempty"`
}

// begunFailure is what the provider said of an operation that has failed.
type begunFailure struct {
	Code    arm.Code `json:"code"`
	Message string   `json:"message"`
	Target  string   `json:"target,omitempty"`
}

// failure is why the write has failed, nil where that is not known.
func (b *begunWrite) failure() *arm.Error {
	if b.Why == nil {
		return nil
	}
	return &arm.Error{Code: b.Why.Code, Message: b.Why.Message, Target: b.Why.Target}
}

// mostBegun bounds what is remembered of one resource; the oldest are forgotten.
const mostBegun = 4

// begunWrites are those of one resource. The zero value is none. It is never changed in
// place.
type begunWrites struct {
	// text is as the store has it: the number of writes, their intents, and then all of
	// them, encrypted. To drop the only one, as most answers do, nothing is decrypted.
	text  []byte
	all   []begunWrite
	known bool // all is what text holds
}

func (b begunWrites) none() bool { return len(b.text) == 0 }

func (b begunWrites) stored() any {
	if b.none() {
		return nil
	}
	return b.text
}

// intents returns those of the writes, and what is encrypted.
func (b begunWrites) intents() (ids [][16]byte, encrypted []byte) {
	if b.none() || len(b.text) < 1+16*int(b.text[0]) {
		return nil, nil
	}
	rest := b.text[1:]
	for range b.text[0] {
		ids, rest = append(ids, [16]byte(rest)), rest[16:]
	}
	return ids, rest
}

// begunPlace is what a text is bound to. The rows of a subscription share it, as what is
// below a resource takes over what is remembered of that.
func begunPlace(sub string) []byte { return []byte("begun " + sub) }

// read returns the writes. With a key that is gone nothing is known of them.
func (b begunWrites) read(ctx context.Context, d *transaction.Database, sub string) []begunWrite {
	if b.known || b.none() {
		return b.all
	}
	_, encrypted := b.intents()
	text, err := d.Cipher.Decrypt(ctx, begunPlace(sub), encrypted)
	if err == nil {
		err = json.Unmarshal(text, &b.all)
	}
	if err != nil {
		return nil
	}
	return b.all
}

// appendBegun appends what json.Marshal returns of the writes.
func appendBegun(text []byte, all []begunWrite) ([]byte, error) {
	separator := byte('[')
	for i := range all {
		var err error
		if text, err = all[i].appendJSON(append(text, separator)); err != nil {
			return nil, err
		}
		separator = ','
	}
	return append(text, ']'), nil
}

func (b *begunWrite) appendJSON(behind []byte) ([]byte, error) {
	o := jsontext.BeginObject(behind)
	o.Bytes("intent", b.Intent[:])
	o.Number("kind", int(b.Kind))
	o.Text("type", b.Type)
	o.Append("cause", b.Cause.AppendJSON)
	if b.Why != nil {
		o.Value("why", b.Why)
	}
	return o.End()
}

// sealBegun returns writes as the store has them.
func sealBegun(ctx context.Context, d *transaction.Database, sub string, all []begunWrite) (begunWrites, error) {
	if len(all) == 0 {
		return begunWrites{}, nil
	}
	all = all[max(0, len(all)-mostBegun):]
	told, err := appendBegun(make([]byte, 0, transaction.UsualTold), all)
	if err != nil {
		return begunWrites{}, err
	}
	encrypted, err := d.Cipher.Encrypt(ctx, begunPlace(sub), told)
	text := append(make([]byte, 0, 1+16*len(all)+len(encrypted)), byte(len(all)))
	for _, b := range all {
		text = append(text, b.Intent[:]...)
	}
	return begunWrites{append(text, encrypted...), all, true}, err
}

// BegunBy returns the cause of the latest write of a row, of one of the kinds or, without
// any, of any kind, of which no event says yet how it ended; the zero Cause where there is
// none, or it cannot be read.
func (s *Store) BegunBy(ctx context.Context, row Resource, kinds ...index.WriteKind) (cause events.Cause) {
	for _, b := range row.begun.read(ctx, s.database, row.Subscription) {
		if len(kinds) == 0 || slices.Contains(kinds, b.Kind) {
			cause = b.Cause
		}
	}
	return cause
}

// begun returns the writes of a resource that have begun.
func (h *resourceTx) begun(t *tx) []begunWrite {
	if h.row == nil {
		return nil
	}
	return h.row.begun.read(t.Context, t.store.database, h.subscription)
}

// beginning is a write that is about to begin: its intent, and what the row remembers if it
// remembers nothing else. It is made before the write waits for its transaction, as others
// wait for that.
type beginning struct {
	intent     [16]byte
	remembered begunWrites
}

func (w *Write) beginning(ctx context.Context, d *transaction.Database) (b beginning, err error) {
	b.intent = engine.NewID()
	b.remembered, err = sealBegun(ctx, d, w.Subscription, []begunWrite{{Intent: b.intent, Kind: w.Kind, Type: w.Type, Cause: events.CauseOf(ctx)}})
	return b, err
}

// remember has the row remember who begins a write.
func (h *resourceTx) remember(t *tx, b beginning) error {
	before := h.begun(t)
	if len(before) == 0 {
		h.remembered = &b.remembered
		return nil
	}
	return h.setBegun(t, slices.Concat(before, b.remembered.all))
}

// setBegun is what the row remembers when it is stored.
func (h *resourceTx) setBegun(t *tx, all []begunWrite) error {
	sealed, err := sealBegun(t.Context, t.store.database, h.subscription, all)
	h.remembered = &sealed
	return err
}

// forget has the row forget a write of which an event says how it ended.
func (h *resourceTx) forget(t *tx, intent [16]byte) error {
	if h.row == nil {
		return nil
	}
	switch ids, _ := h.row.begun.intents(); {
	case !slices.Contains(ids, intent):
		return nil
	case len(ids) == 1:
		h.remembered = &begunWrites{}
		return nil
	}
	return h.setBegun(t, slices.DeleteFunc(slices.Clone(h.begun(t)), func(b begunWrite) bool { return b.Intent == intent }))
}

// forgetEnded has the row forget the writes that a GET of it has shown the end of: all but
// those whose calls may still be running, and a PATCH that is followed. It returns them.
func (h *resourceTx) forgetEnded(t *tx, after index.State) (ended []begunWrite, err error) {
	var left []begunWrite
	for _, b := range h.begun(t) {
		if after.MayRun(b.Intent, b.Kind) {
			left = append(left, b)
		} else {
			ended = append(ended, b)
		}
	}
	if len(ended) > 0 {
		err = h.setBegun(t, left)
	}
	return ended, err
}

// failed has the row remember why the operation of the latest write of a kind has failed.
func (h *resourceTx) failed(t *tx, kind index.WriteKind, why *arm.Error) error {
	if why == nil {
		return nil
	}
	all := slices.Clone(h.begun(t))
	for i := len(all) - 1; i >= 0; i-- {
		if all[i].Kind == kind {
			kept := events.Bounded(why)
			all[i].Why = &begunFailure{kept.Code, kept.Message, kept.Target}
			return h.setBegun(t, all)
		}
	}
	return nil
}

package deploy

import (
	"context"
	"fmt"
	"net/http"
	"strings"

	"portico/arm"
	"portico/template"
	"portico/template/expr"
)

// wholeAnswer bounds the answers that are kept as values. Most are far smaller. A value may take
// thirty times the bytes of its text.
const wholeAnswer = 64 << 10

// readers bounds the large answers that are read at a time. The largest takes some 80 MiB until
// it is reduced to the part that a question is about.
const readers = 2

// withReader calls read, which reads an answer. For a large answer it waits for a place among readers.
func (d *Deployer) withReader(answer []byte, read func()) {
	if len(answer) > wholeAnswer/4 {
		d.reads <- struct{}{}
		defer func() { <-d.reads }()
	}
	read()
}

// keysOf returns the keys of the answer to a question: one for the whole answer, and one for the
// part that the question is about.
func keysOf(q template.Question) (whole, part string) {
	whole = callOf(q).key()
	return whole, fmt.Sprintf("%s %q", whole, pathOf(q))
}

// pathOf returns the path of the only member of an answer that a question needs.
func pathOf(q template.Question) []string {
	if isReference(q) && !q.Full {
		return append([]string{"properties"}, q.Path...)
	}
	return q.Path
}

// askedFor returns the part of an answer that is kept for a question, with its key: all of it if
// it is small, or may hold secrets, which have to be known; else the part that the question needs.
func askedFor(q template.Question, answer expr.Value) (key string, v expr.Value) {
	whole, part := keysOf(q)
	if !isReference(q) || answer.Size() <= wholeAnswer {
		return whole, answer
	}
	return part, reduceTo(answer, pathOf(q))
}

// reduceTo returns a value reduced to the member at a path. An object that lacks the next member of
// the path stays complete, as the error lists its members.
func reduceTo(v expr.Value, path []string) expr.Value {
	if len(path) == 0 {
		return v
	}
	at, found := v.Place(path[0])
	if !found {
		return v
	}
	m := v.Members()[at]
	return expr.ObjectOf(expr.Member{Name: m.Name, Value: reduceTo(m.Value, path[1:])})
}

// remembered is an answer, or a part of one, as a value if that is small, else as JSON.
type remembered struct {
	value expr.Value
	text  []byte
	bytes int64
}

func (r remembered) read() expr.Value {
	if r.text != nil {
		return valueOf(r.text)
	}
	return r.value
}

// rememberAnswer keeps an answer for other questions. If there is no room, they call again; only
// answers that may hold secrets must be kept.
func (a *attempt) rememberAnswer(ctx context.Context, key string, v expr.Value) error {
	r := remembered{value: v, bytes: int64(v.Size())}
	if r.bytes > wholeAnswer {
		r = remembered{text: v.AppendJSON(nil)}
		r.bytes = int64(len(r.text))
	}
	if holdsSecrets(key) {
		if err := a.reserveMemory(ctx, r.bytes); err != nil {
			return err
		}
	} else if !a.memory.TryGrow(r.bytes) {
		return nil
	}
	if _, known := a.known.answers.LoadOrStore(key, r); known {
		a.memory.Shrink(r.bytes)
	}
	return nil
}

// holdsSecrets reports whether a key belongs to the answer of a list* function.
func holdsSecrets(key string) bool { return strings.HasPrefix(key, http.MethodPost) }

// forgetAnswers drops the answers that can be requested again, and releases their memory. It
// reports whether there were any.
func (a *attempt) forgetAnswers() (some bool) {
	for key := range a.known.answers.Range {
		if holdsSecrets(key.(string)) {
			continue
		}
		if r, known := a.known.answers.LoadAndDelete(key); known {
			a.memory.Shrink(r.(remembered).bytes)
			some = true
		}
	}
	return some
}

// reserveMemory reserves memory for answers. It waits for other deployments only while its own holds
// no memory, so that no two wait for each other.
func (a *attempt) reserveMemory(ctx context.Context, n int64) error {
	a.turn.Lock()
	defer a.turn.Unlock()
	for !a.memory.TryGrow(n) {
		switch {
		case a.forgetAnswers():
			continue
		case a.memory.Size()+n > a.MemoryLimit:
			return expr.Errorf("the answers that the deployment needs at a time take more than batch.memory, %d bytes: "+
				"take a member of each at once, as in reference(...).name", a.MemoryLimit)
		}
		err := a.memory.GrowWithin(ctx, n, a.Limits.Budget)
		if err != nil {
			err = fmt.Errorf("%w: %w", errUnanswered, arm.NewError(arm.ServerBusy,
				"the answers that batches, what-ifs and deployments hold take all of batch.totalMemory, or of the caller's share of it"))
		}
		return err
	}
	return nil
}

// heldAnswers has the answers that one order needs until it has been executed.
type heldAnswers struct {
	parts map[string]expr.Value // by the keys of questions
	bytes int64
}

type holdingKey struct{}

// withHeldAnswers returns a context for the questions of one order. release releases the memory of their
// answers.
func (a *attempt) withHeldAnswers(ctx context.Context) (_ context.Context, release func()) {
	h := &heldAnswers{parts: map[string]expr.Value{}}
	return context.WithValue(ctx, holdingKey{}, h), func() { a.memory.Shrink(h.bytes) }
}

// holdPart reserves memory for a part of an answer, once for all questions of an order about it.
func (a *attempt) holdPart(ctx context.Context, key string, part expr.Value) error {
	h := ctx.Value(holdingKey{}).(*heldAnswers)
	n := int64(part.Size())
	if err := a.reserveMemory(ctx, n); err != nil {
		return err
	}
	h.bytes += n
	h.parts[key] = part
	return nil
}

// knownAnswer returns the part of an answer that a question needs, if it is known. held reports whether
// the order holds it.
func (a *attempt) knownAnswer(ctx context.Context, q template.Question) (v expr.Value, held, known bool) {
	whole, part := keysOf(q)
	if v, held = ctx.Value(holdingKey{}).(*heldAnswers).parts[part]; held {
		return v, true, true
	}
	for _, key := range []string{whole, part} {
		if r, known := a.known.answers.Load(key); known {
			r := r.(remembered)
			a.withReader(r.text, func() { v = reduceTo(r.read(), pathOf(q)) })
			return v, false, true
		}
	}
	return v, false, false
}

// answerQuestion answers a question of a template, by a call as the deployment's caller if necessary.
func (a *attempt) answerQuestion(ctx context.Context, q template.Question) (expr.Value, error) {
	v, held, known := a.knownAnswer(ctx, q)
	if !known {
		key, answer, err := a.fetchAnswer(ctx, q)
		if err == nil {
			a.known.hide("answer to "+key, asAnswered(q, answer))
			err = a.rememberAnswer(ctx, key, answer)
		}
		if err != nil {
			return v, err
		}
		v = reduceTo(answer, pathOf(q))
	}
	if !held {
		_, part := keysOf(q)
		if err := a.holdPart(ctx, part, v); err != nil {
			return v, err
		}
	}
	return partOf(q, v), nil
}

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

// wholeAnswer bounds the answers that are kept as they are. Most are far smaller. As a value, a
// larger one may take thirty times the bytes of its text.
const wholeAnswer = 64 << 10

// readers bounds the large answers that are read at a time. One that is as large as may be takes
// some 80 MiB until it is known what is asked for of it.
const readers = 2

// reading calls what reads an answer. If that is large, it waits for others.
func (d *Deployer) reading(answer []byte, read func()) {
	if len(answer) > wholeAnswer/4 {
		d.reads <- struct{}{}
		defer func() { <-d.reads }()
	}
	read()
}

// keysOf returns the keys of the answer to a question: of the whole, and of the part that is
// asked for.
func keysOf(q template.Question) (whole, part string) {
	whole = callOf(q).key()
	return whole, fmt.Sprintf("%s %q", whole, pathOf(q))
}

// pathOf returns the names of the members that a question alone takes of an answer.
func pathOf(q template.Question) []string {
	if isReference(q) && !q.Full {
		return append([]string{"properties"}, q.Path...)
	}
	return q.Path
}

// askedFor returns what is kept of an answer for a question, with its key: the whole if it is
// small, or may hold secrets that have to be known, else the part that is asked for.
func askedFor(q template.Question, answer expr.Value) (key string, v expr.Value) {
	whole, part := keysOf(q)
	if !isReference(q) || answer.Size() <= wholeAnswer {
		return whole, answer
	}
	return part, along(answer, pathOf(q))
}

// along returns the objects along a path of members without their others. One that lacks the
// next member is whole, as the error names those that there are.
func along(v expr.Value, path []string) expr.Value {
	if len(path) == 0 {
		return v
	}
	at, found := v.Place(path[0])
	if !found {
		return v
	}
	m := v.Members()[at]
	return expr.ObjectOf(expr.Member{Name: m.Name, Value: along(m.Value, path[1:])})
}

// remembered is an answer, or a part of one: a value if that is small, else its JSON.
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

// remember keeps what is asked for of an answer for other questions. If there is no room, they
// ask anew; only what may hold secrets must be kept.
func (a *attempt) remember(ctx context.Context, key string, v expr.Value) error {
	r := remembered{value: v, bytes: int64(v.Size())}
	if r.bytes > wholeAnswer {
		r = remembered{text: v.AppendJSON(nil)}
		r.bytes = int64(len(r.text))
	}
	if holdsSecrets(key) {
		if err := a.reserve(ctx, r.bytes); err != nil {
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

// holdsSecrets reports whether an answer of a key is that of a list* function.
func holdsSecrets(key string) bool { return strings.HasPrefix(key, http.MethodPost) }

// forget gives back the memory of what can be asked for again, and reports whether there was
// any.
func (a *attempt) forget() (some bool) {
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

// reserve takes memory for what is needed of answers. It waits for others' only while the
// deployment holds none, so that no two wait for each other.
func (a *attempt) reserve(ctx context.Context, n int64) error {
	a.turn.Lock()
	defer a.turn.Unlock()
	for !a.memory.TryGrow(n) {
		switch {
		case a.forget():
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

// holding is what one order holds of answers, until it has been carried out.
type holding struct {
	parts map[string]expr.Value // by the keys of questions
	bytes int64
}

type holdingKey struct{}

// holding returns a context for the questions of one order. What their answers take is given
// back by release.
func (a *attempt) holding(ctx context.Context) (_ context.Context, release func()) {
	h := &holding{parts: map[string]expr.Value{}}
	return context.WithValue(ctx, holdingKey{}, h), func() { a.memory.Shrink(h.bytes) }
}

// hold takes memory for a part of an answer, once for all questions of an order that ask for it.
func (a *attempt) hold(ctx context.Context, key string, part expr.Value) error {
	h := ctx.Value(holdingKey{}).(*holding)
	n := int64(part.Size())
	if err := a.reserve(ctx, n); err != nil {
		return err
	}
	h.bytes += n
	h.parts[key] = part
	return nil
}

// recall returns the answer to a question, or the part that is asked for, if it is known.
func (a *attempt) recall(ctx context.Context, q template.Question) (v expr.Value, held, known bool) {
	whole, part := keysOf(q)
	if v, held = ctx.Value(holdingKey{}).(*holding).parts[part]; held {
		return v, true, true
	}
	for _, key := range []string{whole, part} {
		if r, known := a.known.answers.Load(key); known {
			r := r.(remembered)
			a.reading(r.text, func() { v = along(r.read(), pathOf(q)) })
			return v, false, true
		}
	}
	return v, false, false
}

// answer asks a question of a template, as the deployment's caller.
func (a *attempt) answer(ctx context.Context, q template.Question) (expr.Value, error) {
	v, held, known := a.recall(ctx, q)
	if !known {
		key, answer, err := a.question(ctx, q)
		if err == nil {
			a.known.hide("answer to "+key, asAnswered(q, answer))
			err = a.remember(ctx, key, answer)
		}
		if err != nil {
			return v, err
		}
		v = along(answer, pathOf(q))
	}
	if !held {
		_, part := keysOf(q)
		if err := a.hold(ctx, part, v); err != nil {
			return v, err
		}
	}
	return partOf(q, v), nil
}

package template

import (
	"crypto/sha256"
	"encoding/binary"
	"strconv"
	"strings"

	"portico/template/document"
	"portico/template/expr"
)

// Hash is the hash of a template alone. That of parameters too would let readers of the
// deployment try what its secrets are.
func Hash(of *document.Node) string {
	sum := sha256.Sum256(of.Literal().AppendJSON(nil))
	return strconv.FormatUint(binary.BigEndian.Uint64(sum[:]), 10)
}

// hash is [Hash], which the nested deployments of a loop share.
func (e *expansion) hash(of *document.Node) string {
	hash, known := e.hashes[of]
	if !known {
		hash = Hash(of)
		e.hashes[of] = hash
	}
	return hash
}

// literal is a node as a value, no expression in it worked out. It is charged when it is made:
// all that use it share it.
func (e *expansion) literal(n *document.Node) (expr.Value, error) {
	v, known := e.literals[n]
	if known {
		return v, nil
	}
	v = n.Literal()
	e.literals[n] = v
	return v, e.budget.Bytes(v.Size())
}

// written is a part of a template as it is written.
type written struct {
	*expansion
	node *document.Node
}

func (e *expansion) written(n *document.Node) expr.Value {
	if n.Is(expr.Array | expr.Object) {
		return expr.SourceOf(n.Value.Kind(), written{e, n})
	}
	return n.Value
}

// Select implements expr.Source.
func (w written) Select(key expr.Value) (expr.Value, bool, error) {
	var part *document.Node
	switch at := key.Int(); {
	case key.Is(expr.String):
		part = w.node.MemberOrNull(key.Text())
	case key.Is(expr.Int) && at >= 0 && at < int64(len(w.node.Elements)):
		part = w.node.Elements[at]
	}
	if part == nil {
		return expr.Value{}, false, nil
	}
	return w.written(part), true, nil
}

// Whole implements expr.Source.
func (w written) Whole() (expr.Value, error) { return w.literal(w.node) }

// made is an object whose members are made when they are looked at.
type made []madeMember

type madeMember struct {
	name string
	make func() (expr.Value, error)
}

// Select implements expr.Source.
func (m made) Select(key expr.Value) (expr.Value, bool, error) {
	for _, member := range m {
		if key.Is(expr.String) && strings.EqualFold(member.name, key.Text()) {
			v, err := member.make()
			return v, true, err
		}
	}
	return expr.Value{}, false, nil
}

// Whole implements expr.Source.
func (m made) Whole() (expr.Value, error) {
	members := make([]expr.Member, 0, len(m))
	for _, member := range m {
		v, err := member.make()
		if err == nil {
			v, err = expr.Whole(v)
		}
		if err != nil {
			return v, err
		}
		members = append(members, expr.Member{Name: member.name, Value: v})
	}
	return expr.ObjectOf(members...), nil
}

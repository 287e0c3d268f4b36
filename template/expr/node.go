package expr

// Node is an expression tree: a *Literal, *Invocation, *Property or *Element.
type Node interface {
	// size estimates the bytes of the tree, counting shared parts each time they occur.
	size() int
}

// Literal is a constant, or the value of an already evaluated part of an expression. It may have
// Pending parts.
type Literal struct{ Value Value }

// Invocation is a call of a function.
type Invocation struct {
	Namespace string // only for functions that the template defines
	Name      string
	Args      []Node
	offset    int
	weight    int
}

// Property is OF.NAME.
type Property struct {
	Of     Node
	Name   string
	offset int
	weight int
}

// Element is OF[KEY], where the key is an index or a member's name.
type Element struct {
	Of, Key Node
	offset  int
	weight  int
}

// nodeSize is the approximate size of a node without its parts.
const nodeSize = 64

func (n *Literal) size() int    { return n.Value.Size() }
func (n *Invocation) size() int { return n.weight }
func (n *Property) size() int   { return n.weight }
func (n *Element) size() int    { return n.weight }

func newInvocation(offset int, namespace, name string, args []Node) *Invocation {
	weight := nodeSize + len(namespace) + len(name)
	for _, arg := range args {
		weight = addSize(weight, arg.size())
	}
	return &Invocation{Namespace: namespace, Name: name, Args: args, offset: offset, weight: weight}
}

// Invoke returns a call of a function with evaluated arguments.
func Invoke(name string, args ...Value) Node {
	nodes := make([]Node, len(args))
	for i, arg := range args {
		nodes[i] = nodeOf(arg)
	}
	return newInvocation(0, "", name, nodes)
}

func newProperty(offset int, of Node, name string) *Property {
	return &Property{Of: of, Name: name, offset: offset, weight: addSize(of.size(), nodeSize+len(name))}
}

func newElement(offset int, of, key Node) *Element {
	return &Element{Of: of, Key: key, offset: offset, weight: addSize(addSize(of.size(), key.size()), nodeSize)}
}

// nodeOf returns a value as an expression.
func nodeOf(v Value) Node {
	if v.kind == Pending && v.flags&secure == 0 {
		return v.Expression()
	}
	return &Literal{v}
}

// Invocations calls visit for each Pending call in a value, outermost first.
func Invocations(v Value, visit func(*Invocation)) {
	switch {
	case v.Known():
	case v.kind == Pending:
		invocations(v.Expression(), visit)
	case v.kind == Array:
		for _, e := range v.Elements() {
			Invocations(e, visit)
		}
	case v.kind == Object:
		for _, m := range v.Members() {
			Invocations(m.Value, visit)
		}
	}
}

func invocations(n Node, visit func(*Invocation)) {
	switch n := n.(type) {
	case *Literal:
		Invocations(n.Value, visit)
	case *Invocation:
		visit(n)
		for _, arg := range n.Args {
			invocations(arg, visit)
		}
	case *Property:
		invocations(n.Of, visit)
	case *Element:
		invocations(n.Of, visit)
		invocations(n.Key, visit)
	}
}

// PropertyOf returns of.name.
func PropertyOf(of Node, name string) Node { return newProperty(0, of, name) }

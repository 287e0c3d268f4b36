package expr

// Node is an expression as a tree: a *Literal, *Invocation, *Property or *Element.
type Node interface {
	// size estimates the bytes of the tree, a shared part counted wherever it stands.
	size() int
}

// Literal is a value that stands in an expression. Values that were worked out stand as
// such in what remains of an expression; a part of one may be Pending.
type Literal struct{ Value Value }

// Invocation is a call of a function.
type Invocation struct {
	Namespace string // of a function that the template defines
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

// Element is OF[KEY], whose key is an index or a member's name.
type Element struct {
	Of, Key Node
	offset  int
	weight  int
}

// nodeSize is about what a node takes without its parts.
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

// Invoke is a call of a function with arguments that are worked out.
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

// nodeOf is a value as an expression.
func nodeOf(v Value) Node {
	if v.kind == Pending && v.flags&secure == 0 {
		return v.Expression()
	}
	return &Literal{v}
}

// Invocations calls visit for each call that a value still needs, outermost first.
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

// PropertyOf is OF.NAME.
func PropertyOf(of Node, name string) Node { return newProperty(0, of, name) }

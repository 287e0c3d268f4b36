package template

import (
	"fmt"
	"slices"
	"strings"

	"portico/template/document"
	"portico/template/expr"
)

// declaration is a resource of a template: of a loop one for each index.
type declaration struct {
	s      *scope
	node   *document.Node
	symbol string
	loops  []iteration
	loop   *Loop

	kind       string // its whole type
	name       string // its whole name
	id         string
	apiVersion string
	at         expr.Scope
	existing   bool
	condition  expr.Value
	skipped    bool // its condition is false
	broken     bool // what it is has a fault, which is reported

	dependsOn []*declaration
	waits     map[*declaration]bool
	body      expr.Value

	isDeployment bool
	arguments    []Argument // of a nested deployment
	nested       *scope     // what a nested deployment holds
	unfolding    int        // untouched, evaluating, finished
	unfolds      *Unfolding

	visit  int // of the walk that orders resources
	leaves []*Resource
}

// deploymentType is that of nested deployments.
const deploymentType = "Microsoft.Resources/deployments"

// unsupportedTypes are refused by name.
var unsupportedTypes = map[string]string{
	"microsoft.resources/deploymentscripts":               "deployment scripts are not supported: nothing runs them",
	"microsoft.resources/templatespecs":                   "template specs are not supported",
	"microsoft.resources/templatespecs/versions":          "template specs are not supported",
	"microsoft.resources/deploymentstacks":                "deployment stacks are not supported",
	"microsoft.management/managementgroups":               "management groups are not supported",
	"microsoft.management/managementgroups/subscriptions": "management groups are not supported",
}

// resourceMembers are what says how a resource is deployed; all else is its body.
var resourceMembers = map[string]bool{"name": true, "type": true, "apiversion": true, "dependson": true, "condition": true, "copy": true,
	"scope": true, "resources": true, "comments": true, "existing": true, "metadata": true, "subscriptionid": true, "resourcegroup": true, "$options": true}

// declare notes which resources there are.
func (s *scope) declare() {
	if resources := s.template.Member("resources"); resources != nil && !s.over {
		s.declareAll(resources, nil, nil)
	}
}

func (s *scope) declareAll(resources *document.Node, parent *declaration, loops []iteration) {
	switch {
	case resources.Is(expr.Array):
		for _, n := range resources.Elements {
			s.declareLoop("", n, parent, loops)
		}
	case resources.Is(expr.Object):
		for _, m := range resources.Members {
			s.declareLoop(m.Name, m.Node, parent, loops)
		}
	default:
		s.fault(resources, "resources are an array, or an object of symbols and resources, and this is %s", resources.Value.Kind())
	}
}

func (s *scope) declareLoop(symbol string, n *document.Node, parent *declaration, loops []iteration) {
	if !n.Is(expr.Object) {
		s.fault(n, "a resource is an object, and this is %s", n.Value.Kind())
		return
	}
	for _, name := range []string{"import", "extension"} {
		if m := n.Member(name); m != nil {
			s.fault(m, "resources of extensions are not supported: a template's resources are Azure Resource Manager's alone")
			s.broken[strings.ToLower(symbol)] = true
			return
		}
	}
	loop := n.Member("copy")
	if loop == nil {
		s.declareOne(symbol, n, parent, loops, nil)
		return
	}
	name := loop.Member("name").Text()
	count, ok := s.loopCount(loop, name, loops)
	if !ok {
		s.broken[strings.ToLower(name)], s.broken[strings.ToLower(symbol)] = true, true
		return
	}
	batch := s.batchSize(loop, &frame{loops: loops})
	s.loopNames[strings.ToLower(name)], s.loopNames[strings.ToLower(symbol)] = true, true
	for i := 0; i < count && !s.over; i++ {
		inner := slices.Concat(loops, []iteration{{name: name, index: i, resource: true}})
		s.declareOne(symbol, n, parent, inner, &Loop{Name: name, Index: i, Count: count, Batch: batch})
	}
}

func (s *scope) loopCount(loop *document.Node, name string, loops []iteration) (count int, ok bool) {
	n := loop.Member("count")
	if name == "" || n == nil {
		s.fault(loop, "a loop of resources has a name and a count")
		return 0, false
	}
	v, ok := s.evaluate(n, &frame{loops: loops})
	if !ok {
		return 0, false
	}
	return s.checkedCount(n, v)
}

// batchSize is how many resources of a loop are sent side by side; 0 is all of them.
func (s *scope) batchSize(loop *document.Node, f *frame) int {
	mode := loop.Member("mode")
	if mode == nil || strings.EqualFold(mode.Text(), "parallel") {
		return 0
	}
	if !strings.EqualFold(mode.Text(), "serial") {
		s.fault(mode, "a loop's mode is 'serial' or 'parallel'")
	}
	n := loop.Member("batchSize")
	if n == nil {
		return 1
	}
	v, ok := s.evaluate(n, f)
	if ok && (!v.Is(expr.Int) || v.Int() < 1) {
		s.fault(n, "a loop's batchSize is an integer of at least 1")
	}
	return int(max(1, min(v.Int(), maxResources)))
}

func (s *scope) declareOne(symbol string, n *document.Node, parent *declaration, loops []iteration, loop *Loop) {
	d := &declaration{s: s, node: n, symbol: symbol, loops: loops, loop: loop, waits: map[*declaration]bool{}, condition: expr.BoolOf(true)}
	f := &frame{loops: loops}
	ok := d.readCondition(f)
	if d.skipped {
		defer s.silence()()
	}
	if ok = ok && d.readIdentity(f, parent); !ok {
		d.broken = !d.skipped
	}
	s.add(d)
	if children := n.Member("resources"); children != nil && ok {
		s.declareAll(children, d, loops)
	}
}

// readIdentity works out what the resource is, and where.
func (d *declaration) readIdentity(f *frame, parent *declaration) bool {
	if n := d.node.Member("existing"); n != nil {
		v, _ := d.s.evaluate(n, f)
		d.existing = v.Bool()
	}
	var kindOK, nameOK, versionOK bool
	d.kind, kindOK = d.text("type", f)
	d.name, nameOK = d.text("name", f)
	d.apiVersion, versionOK = d.text("apiVersion", f)
	if !kindOK || !nameOK || !versionOK {
		return false
	}
	if parent != nil && !strings.HasPrefix(strings.ToLower(d.kind), strings.ToLower(parent.kind)+"/") {
		d.kind, d.name = parent.kind+"/"+d.kind, parent.name+"/"+d.name
	}
	return d.identify(f, parent)
}

// silence forgets the faults until the function that it returns is called: names of a
// resource that is left out need not make sense.
func (s *scope) silence() func() {
	outer := s.quiet
	s.quiet = true
	return func() { s.quiet = outer }
}

// readCondition works the condition out; one that needs an answer stays Pending.
func (d *declaration) readCondition(f *frame) bool {
	n := d.node.Member("condition")
	if n == nil {
		return true
	}
	v, ok := d.s.evaluate(n, f)
	if ok && !v.Is(expr.Bool|expr.Pending) {
		d.s.fault(n, "a condition is true or false, and this is %s", v.Kind())
		ok = false
	}
	d.condition, d.skipped = v, v.Is(expr.Bool) && !v.Bool()
	return ok
}

// text is a member that must be a string, not empty.
func (d *declaration) text(name string, f *frame) (text string, ok bool) {
	n := d.node.Member(name)
	if n == nil {
		d.s.fault(d.node, "the resource lacks its member '%s'", name)
		return "", false
	}
	text, ok = d.optional(name, f)
	if ok && text == "" {
		d.s.fault(n, "a resource's %s is a string that is not empty", name)
	}
	return text, ok && text != ""
}

// optional is a string that may be absent, null or empty.
func (d *declaration) optional(name string, f *frame) (text string, ok bool) {
	n := d.node.Member(name)
	if n == nil {
		return "", true
	}
	v, ok := d.s.evaluate(n, f)
	switch {
	case !ok:
		return "", false
	case !v.Known():
		d.s.values.wait(n, v, "a resource's "+name)
		return "", false
	case !v.Is(expr.String | expr.Null):
		d.s.fault(n, "a resource's %s is a string, and this is %s", name, v.Kind())
		return "", false
	}
	return v.Text(), true
}

// identify works out where the resource lies.
func (d *declaration) identify(f *frame, parent *declaration) bool {
	s := d.s
	scopeText, scopeOK := d.optional("scope", f)
	group, groupOK := d.optional("resourceGroup", f)
	subscription, subscriptionOK := d.optional("subscriptionId", f)
	if !scopeOK || !groupOK || !subscriptionOK {
		return false
	}
	d.isDeployment = strings.EqualFold(d.kind, deploymentType) && !d.existing
	d.at = s.at
	if subscription != "" {
		d.at = expr.Scope{Tenant: s.at.Tenant, Subscription: subscription}
	}
	if group != "" {
		d.at.Group = group
	}
	base := d.at.ID()
	switch {
	case scopeText != "":
		var ok bool
		if base, ok = d.scopeID(scopeText); !ok {
			return false
		}
	case parent != nil:
		d.at, base = parent.at, strings.TrimSuffix(parent.id, parent.path())
	}
	ok := d.compose(base)
	if why, refused := unsupportedTypes[strings.ToLower(d.kind)]; refused {
		s.fault(d.node.Member("type"), "%s", why)
		return false
	}
	return ok
}

// scopeID is the ID that the resource's scope names, and sets where that lies.
func (d *declaration) scopeID(text string) (string, bool) {
	n := d.node.Member("scope")
	lower := strings.ToLower(text)
	switch {
	case text == "/", strings.HasPrefix(lower, "/providers/microsoft.management/"):
		d.s.fault(n, "resources of tenants and management groups are not supported")
		return "", false
	case !strings.HasPrefix(text, "/"):
		path, ok := interleave(text, "")
		if !ok {
			d.s.fault(n, "'%s' is no resource's ID, nor a type with a name", text)
			return "", false
		}
		return d.at.ID() + path, true
	}
	segments := strings.Split(strings.Trim(text, "/"), "/")
	if len(segments) < 2 || !strings.EqualFold(segments[0], "subscriptions") {
		d.s.fault(n, "'%s' is no resource's ID", text)
		return "", false
	}
	d.at = expr.Scope{Tenant: d.s.at.Tenant, Subscription: segments[1]}
	if len(segments) >= 4 && strings.EqualFold(segments[2], "resourceGroups") {
		d.at.Group = segments[3]
	}
	return "/" + strings.Join(segments, "/"), true
}

// path is the part of the ID behind the scope.
func (d *declaration) path() string {
	path, _ := interleave(d.kind, d.name)
	return path
}

// compose builds the ID from the scope's.
func (d *declaration) compose(base string) bool {
	switch strings.ToLower(d.kind) {
	case "microsoft.resources/resourcegroups":
		if d.at.Group != "" {
			d.s.fault(d.node, "resource groups are made by deployments to subscriptions, and this one is to a group")
			return false
		}
		d.id = d.at.ID() + "/resourceGroups/" + d.name
		return true
	case strings.ToLower(deploymentType):
		base = d.at.ID()
	}
	path, ok := interleave(d.kind, d.name)
	if !ok {
		d.s.fault(d.node.Member("name"), "the name '%s' must have as many segments as the type '%s' behind its namespace", d.name, d.kind)
		return false
	}
	d.id = base + path
	return true
}

// interleave is /providers/NAMESPACE/TYPE/NAME/… of a type and a name. Without a name, the
// text has all of it: NAMESPACE/TYPE/NAME.
func interleave(kind, name string) (string, bool) {
	types := strings.Split(kind, "/")
	if name == "" {
		if len(types) < 3 || len(types)%2 == 0 || !strings.Contains(types[0], ".") {
			return "", false
		}
		return "/providers/" + kind, true
	}
	names := strings.Split(name, "/")
	if len(types)-1 != len(names) || len(types) < 2 {
		return "", false
	}
	path := "/providers/" + types[0]
	for i, name := range names {
		if name == "" || types[i+1] == "" {
			return "", false
		}
		path += "/" + types[i+1] + "/" + name
	}
	return path, true
}

// add notes a resource by all of its names.
func (s *scope) add(d *declaration) {
	s.declared = append(s.declared, d)
	if d.symbol != "" {
		s.index(d.symbol, d)
		if d.loop != nil {
			s.index(fmt.Sprintf("%s[%d]", d.symbol, d.loop.Index), d)
		}
	}
	if d.loop != nil {
		s.index(d.loop.Name, d)
	}
	if d.id == "" && d.name != "" {
		s.index(d.name, d)
	}
	s.nameless = s.nameless || d.name == "" && d.broken
	if d.id != "" {
		for _, name := range []string{d.id, d.name, d.kind + "/" + d.name, strings.TrimPrefix(d.path(), "/providers/")} {
			s.index(name, d)
		}
	}
	if d.skipped || d.broken {
		return
	}
	if !d.existing {
		if earlier := s.ids[strings.ToLower(d.id)]; earlier != nil {
			line := earlier.node.Fault(Code, "").Line
			s.fault(d.node, "the resource '%s' is declared more than once: first at line %d", d.id, line)
			return
		}
		s.ids[strings.ToLower(d.id)] = d
	}
	if s.count++; s.count > maxResources {
		s.fault(s.template.Member("resources"), "the template has more than %d resources", maxResources)
		s.over = true
	}
}

func (s *scope) index(name string, d *declaration) {
	key := strings.ToLower(name)
	for _, other := range s.byName[key] {
		if other == d {
			return
		}
	}
	s.byName[key] = append(s.byName[key], d)
}

// named are the resources that a name stands for. A symbol, or a loop, stands before
// resources that are named so.
func (s *scope) named(name string) []*declaration {
	found := s.byName[strings.ToLower(name)]
	if len(found) < 2 {
		return found
	}
	for _, prefer := range []func(*declaration) bool{
		func(d *declaration) bool { return strings.EqualFold(d.symbol, name) },
		func(d *declaration) bool { return d.loop != nil && strings.EqualFold(d.loop.Name, name) },
		func(d *declaration) bool { return !d.skipped },
	} {
		var preferred []*declaration
		for _, d := range found {
			if prefer(d) {
				preferred = append(preferred, d)
			}
		}
		if len(preferred) > 0 {
			return preferred
		}
	}
	return found
}

// emptyLoop reports whether a name is that of a loop without resources.
func (s *scope) emptyLoop(name string) bool {
	name = strings.ToLower(name)
	return name != "" && s.loopNames[name] && len(s.byName[name]) == 0
}

// mayBeBroken reports whether a name may be that of a resource whose fault is reported.
func (s *scope) mayBeBroken(name string) bool { return s.nameless || s.broken[strings.ToLower(name)] }

// after has d wait for another resource.
func (d *declaration) after(other *declaration) {
	if !d.waits[other] {
		d.waits[other] = true
		d.dependsOn = append(d.dependsOn, other)
	}
}

// frame is where the resource's body stands.
func (d *declaration) frame() *frame { return &frame{loops: d.loops, owner: d, answers: true} }

// expand works out all bodies and what they wait for.
func (s *scope) expand() {
	for _, d := range s.declared {
		if s.over {
			return
		}
		if !d.skipped && !d.broken {
			d.expand()
		}
	}
	s.serialize()
}

// serialize has each batch of a serial loop wait for the one before.
func (s *scope) serialize() {
	loops := map[string][]*declaration{}
	for _, d := range s.declared {
		if d.loop == nil || d.loop.Batch == 0 || d.skipped {
			continue
		}
		key := d.kind + "\n" + d.loop.Name
		for _, earlier := range loops[key] {
			if earlier.loop.Index/d.loop.Batch == d.loop.Index/d.loop.Batch-1 {
				d.after(earlier)
			}
		}
		loops[key] = append(loops[key], d)
	}
}

func (d *declaration) expand() {
	d.readDependsOn()
	switch {
	case d.isDeployment:
		if err := d.unfold(); err != nil {
			d.s.failed(d.node, err)
		}
	case !d.existing:
		d.readBody()
	}
}

func (d *declaration) readBody() {
	s, f := d.s, d.frame()
	members := make([]expr.Member, 0, len(d.node.Members))
	for _, m := range d.node.Members {
		lower := strings.ToLower(m.Name)
		if resourceMembers[lower] {
			continue
		}
		v, ok := s.evaluate(m.Node, f)
		if ok && !v.Is(expr.Null) {
			members = append(members, expr.Member{Name: m.Name, Value: v})
		}
	}
	d.body = expr.ObjectOf(members...)
}

func (d *declaration) readDependsOn() {
	n := d.node.Member("dependsOn")
	if n == nil {
		return
	}
	f := &frame{loops: d.loops}
	if !n.Is(expr.Array) {
		d.s.dependOn(d, n, f)
		return
	}
	for _, e := range n.Elements {
		d.s.dependOn(d, e, f)
	}
}

// dependOn reads an element of dependsOn, or an expression that makes all of them.
func (s *scope) dependOn(d *declaration, n *document.Node, f *frame) {
	v, ok := s.evaluate(n, f)
	if !ok {
		return
	}
	names := []expr.Value{v}
	if v.Is(expr.Array) && n.Is(expr.String) {
		names = v.Elements()
	}
	for _, name := range names {
		if !name.Is(expr.String) {
			s.fault(n, "dependsOn has names, IDs or symbols of resources, and this is of kind %s", name.Kind())
			continue
		}
		found := s.named(name.Text())
		if len(found) == 0 && !s.emptyLoop(name.Text()) && !s.mayBeBroken(name.Text()) {
			s.fault(n, "the resource '%s' is not in the template%s", name.Text(), s.near(name.Text()))
		}
		if len(found) > 1 && !s.loopNames[strings.ToLower(name.Text())] {
			s.fault(n, "'%s' names %d resources of the template; use a type with the name, or an ID", name.Text(), len(found))
			continue
		}
		for _, other := range found {
			d.after(other)
		}
	}
}

func (s *scope) near(name string) string {
	names := make([]string, 0, 2*len(s.declared))
	for _, d := range s.declared {
		if d.symbol != "" {
			names = append(names, d.symbol)
		}
		names = append(names, d.name)
	}
	return guess(name, names)
}

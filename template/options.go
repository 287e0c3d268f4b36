package template

import (
	"strings"

	"portico/template/expr"
)

// Options are the @options of a resource.
type Options struct {
	// OnlyIfNotExists leaves a resource unchanged if it exists.
	OnlyIfNotExists bool
	// RetryOn lists the error codes after which the resource is sent again, at most Retries times.
	RetryOn []string
	Retries int
}

// mostRetries is the default and the maximum of Options.Retries.
const mostRetries = 30

// readOptions reads the resource's @options: an object of option names, each with an array of
// arguments.
func (d *declaration) readOptions() {
	n := d.node.Member("@options")
	switch {
	case n == nil:
		return
	case d.isDeployment:
		d.s.fault(n, "a nested deployment has no options: give them to the resources in it")
	case !n.Is(expr.Object):
		d.s.fault(n, "the options of a resource are an object, and this is %s", n.Value.Kind())
	}
	d.s.distinctNames(n)
	for _, m := range n.Members {
		name := strings.ToLower(m.Name)
		if name != "onlyifnotexists" && name != "retryon" {
			d.s.keyFault(n, m, "the option '%s' is not supported; options are 'onlyIfNotExists' and 'retryOn'", m.Name)
			continue
		}
		v, ok := d.s.evaluate(m.Node, d.frame())
		switch {
		case !ok || v.Is(expr.Null):
		case name == "retryon":
			if !d.options.readRetries(v) {
				d.s.fault(m.Node, "'%s' has codes of errors and, from 1 on, a count: [[\"Code\"], 5]", m.Name)
			}
		case !v.Is(expr.Array) || v.Len() > 0:
			d.s.fault(m.Node, "'%s' is an array without elements", m.Name)
		default:
			d.options.OnlyIfNotExists = true
		}
	}
}

func (o *Options) readRetries(args expr.Value) bool {
	count := expr.IntOf(mostRetries)
	switch {
	case !args.Is(expr.Array) || args.Len() < 1 || args.Len() > 2 || !args.Element(0).Is(expr.Array):
		return false
	case args.Len() == 2:
		count = args.Element(1)
	}
	for _, code := range args.Element(0).Elements() {
		if code.Text() == "" {
			return false
		}
		o.RetryOn = append(o.RetryOn, code.Text())
	}
	o.Retries = int(min(count.Int(), mostRetries))
	return o.Retries >= 1
}

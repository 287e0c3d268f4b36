// Package deploy deploys templates: it sends their resources in the order that a
// [deployplan.Graph] decides, each as a request of the caller, and records the outcome of each. A
// replica that takes a job over continues from the records of its steps.
//
// A deployment follows a step as its caller would: by GETs of the polling URL that the provider
// gave. The index follows the same operation independently, but keeps only its outcome, while a
// deployment shows the provider's error. Each poll of the deployment also updates the index.
//
// Each call passes through the gateway like a request of its caller, and waits there for the
// bounds per endpoint and the caller's turn. The limits of the graph keep one deployment from
// filling these alone; the runner bounds the deployments of one caller at a time.
package deploy

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"time"

	"github.com/google/uuid"

	"portico/jobs/deploy/secret"
	"portico/template"
	"portico/template/document"
	"portico/template/expr"
)

// Order has all that a deployment needs. The store keeps it in this form, encrypted.
type Order struct {
	Caller     json.RawMessage `json:"caller"` // as the sender reads it
	CallerName string          `json:"callerName"`
	// Content is the client's content, which was checked.
	Content  []byte            `json:"content"`
	Name     string            `json:"name"`
	Scope    expr.Scope        `json:"scope"`
	Complete bool              `json:"complete,omitempty"` // the rest of the group is deleted
	Location string            `json:"location"`           // the deployment's, at a subscription
	Tags     map[string]string `json:"tags,omitempty"`
	Settings
	// Group, Subscription, Deployer and Environment are the results of resourceGroup() and so on.
	Group        json.RawMessage `json:"group,omitempty"` // empty at a subscription
	Subscription json.RawMessage `json:"subscription,omitempty"`
	Deployer     json.RawMessage `json:"deployer,omitempty"`
	Environment  json.RawMessage `json:"environment,omitempty"`
	Correlation  string          `json:"correlation"`
	// Now and Seed are fixed when the deployment begins, so that every attempt expands the
	// template in the same way.
	Now  time.Time `json:"now"`
	Seed [32]byte  `json:"seed"`
}

// ID returns the ID of the deployment.
func (o *Order) ID() string {
	return o.Scope.ID() + "/providers/Microsoft.Resources/deployments/" + o.Name
}

func (o *Order) mode() string {
	if o.Complete {
		return "Complete"
	}
	return "Incremental"
}

// Expand expands the template of the order, always to the same plan. Values that depend on calls
// are still to be completed. The error is ctx's.
func (o *Order) Expand(ctx context.Context) (*template.Plan, template.Input, []*document.Fault, error) {
	of, arguments, faults := o.read()
	if len(faults) > 0 {
		return nil, template.Input{}, faults, nil
	}
	return o.Plan(ctx, of, arguments)
}

// read reads the template and the parameters in the order's content.
func (o *Order) read() (of *document.Node, arguments []template.Argument, faults []*document.Fault) {
	d, faults := document.Read(o.Content, document.Relaxed, template.Code)
	if len(faults) > 0 {
		return nil, nil, faults
	}
	return Read(d.Root.Member("properties"))
}

// Read reads the template and the parameters among a deployment's properties. As in ARM,
// each of them may be a string that holds the JSON. An absent template is nil.
func Read(properties *document.Node) (of *document.Node, arguments []template.Argument, faults []*document.Fault) {
	if of, faults = properties.Member("template").ParseText(document.Relaxed, template.Code); len(faults) > 0 {
		return nil, nil, faults
	}
	parameters, faults := properties.Member("parameters").ParseText(document.Relaxed, template.Code)
	if len(faults) == 0 && parameters != nil {
		arguments, faults = template.ReadArguments(parameters)
	}
	return of, arguments, faults
}

// Plan expands a content that was read, as Expand does. Its faults contain no secret.
func (o *Order) Plan(ctx context.Context, of *document.Node, arguments []template.Argument) (*template.Plan, template.Input, []*document.Fault, error) {
	in := template.Input{Template: of, Arguments: arguments, Name: o.Name, Scope: o.Scope, Location: o.Location, Mode: o.mode(),
		Group: valueOf(o.Group), Subscription: valueOf(o.Subscription), Deployer: valueOf(o.Deployer), Environment: valueOf(o.Environment),
		Now: o.Now, NewGUID: o.guids("")}
	p, faults, err := template.Expand(ctx, in)
	if len(faults) > 0 {
		secret.In(p.Secrets...).Faults(faults)
	}
	return p, in, faults, err
}

// guids returns a generator of UUIDs that others cannot predict. For a part of an order it is
// always the same sequence.
func (o *Order) guids(part string) func() string {
	seed := append(o.Seed[:], part...)
	n := uint64(0)
	return func() string {
		n++
		sum := sha256.Sum256(binary.BigEndian.AppendUint64(seed, n))
		id := uuid.UUID(sum[:16])
		id[6], id[8] = id[6]&0x0f|0x40, id[8]&0x3f|0x80 // version 4, random
		return id.String()
	}
}

package deploy

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"portico/arm"
	"portico/inventory/deploymentrow"
	"portico/jobs/deploy/deployplan"
	"portico/jobs/deploy/secret"
	"portico/template"
	"portico/template/document"
	"portico/template/expr"
)

// Type is the resource type of deployments.
const Type = "Microsoft.Resources/deployments"

// Record is a deployment as clients see it. There are no secrets in it.
type Record struct {
	ID         string            `json:"id"`
	Name       string            `json:"name"`
	Type       string            `json:"type"`
	Location   string            `json:"location,omitempty"`
	Tags       map[string]string `json:"tags,omitempty"`
	Properties Properties        `json:"properties"`
}

// Properties are the properties of a [Record].
type Properties struct {
	TemplateHash      string               `json:"templateHash"`
	Parameters        map[string]Parameter `json:"parameters"`
	Mode              string               `json:"mode"`
	ProvisioningState string               `json:"provisioningState"`
	Timestamp         time.Time            `json:"timestamp"`
	Duration          string               `json:"duration"`
	CorrelationID     string               `json:"correlationId"`
	Providers         []Provider           `json:"providers"`
	Dependencies      []Dependency         `json:"dependencies"`
	Outputs           map[string]Parameter `json:"outputs,omitzero"`         // nil until it has succeeded
	OutputResources   []Reference          `json:"outputResources,omitzero"` // nil until it has ended
	Error             *arm.Error           `json:"error,omitempty"`
	Settings

	size int // bytes of the parts that may be large; see fits
}

// Settings are the options that a client sets for a deployment, apart from its content.
type Settings struct {
	DebugSetting    *DebugSetting `json:"debugSetting,omitempty"`
	ValidationLevel string        `json:"validationLevel,omitempty"`
}

// DebugSetting is the detail of a deployment's requests that a client would like to see.
type DebugSetting struct {
	DetailLevel string `json:"detailLevel"`
}

// Parameter is a parameter or an output; a secure one has no value here.
type Parameter struct {
	Type  string          `json:"type"`
	Value json.RawMessage `json:"value,omitempty"`
}

// Provider is a provider of resources that were deployed.
type Provider struct {
	Namespace     string         `json:"namespace"`
	ResourceTypes []ResourceType `json:"resourceTypes"`
}

// ResourceType is a type that was deployed, with its locations.
type ResourceType struct {
	ResourceType string   `json:"resourceType"`
	Locations    []string `json:"locations"`
}

// Dependency is a resource with the resources that it depends on.
type Dependency struct {
	DependsOn []Reference `json:"dependsOn"`
	Reference
}

// Reference names a resource.
type Reference struct {
	ID           string `json:"id"`
	ResourceType string `json:"resourceType,omitempty"`
	ResourceName string `json:"resourceName,omitempty"`
}

// stepRecord is the record of a step, apart from its state.
type stepRecord struct {
	Target  *Reference `json:"target,omitempty"`  // set once it was sent, or has ended
	Removes bool       `json:"removes,omitempty"` // it is a deletion
	Began   time.Time  `json:"began,omitzero"`    // when it was last sent
	Ended   time.Time  `json:"ended,omitzero"`
	Status  int        `json:"status,omitempty"`
	// Poll is the polling URL that its provider gave; empty: the resource itself is polled.
	Poll string `json:"poll,omitempty"`
	// OfStatus: Poll shows the operation's status, not its result.
	OfStatus bool `json:"ofStatus,omitempty"`
	// New: the resource was not known when it was sent.
	New     bool `json:"new,omitempty"`
	LeftOut bool `json:"leftOut,omitempty"` // by its condition
	// Existed: it was not sent, as its options say, because the resource exists.
	Existed bool `json:"existed,omitempty"`
	Retries int  `json:"retries,omitempty"` // of the number that its options allow
	// Secrets lists the secrets in the body that was sent, if that depended on answers; nil: not
	// known.
	Secrets []string `json:"secrets,omitzero"`
	// Within is one more than the number of the nested deployment's step that holds it.
	Within   int        `json:"within,omitempty"`
	Location string     `json:"location,omitempty"` // of a nested deployment at a subscription
	Unfolded *unfolding `json:"unfolded,omitempty"`
	Kept     int        `json:"kept,omitempty"` // bytes of [NestedBytes] that a nested deployment takes
	Fault    *arm.Error `json:"fault,omitempty"`
}

// Operation is a step as clients see it.
type Operation struct {
	ID          string              `json:"id"`
	OperationID string              `json:"operationId"`
	Properties  OperationProperties `json:"properties"`
}

// OperationProperties are the properties of an [Operation].
type OperationProperties struct {
	ProvisioningOperation string         `json:"provisioningOperation"`
	ProvisioningState     string         `json:"provisioningState"`
	Timestamp             time.Time      `json:"timestamp"`
	Duration              string         `json:"duration"`
	StatusCode            string         `json:"statusCode,omitempty"`
	StatusMessage         *StatusMessage `json:"statusMessage,omitempty"`
	TargetResource        *Reference     `json:"targetResource,omitempty"`
}

// StatusMessage tells why a step has failed.
type StatusMessage struct {
	Status string     `json:"status"`
	Error  *arm.Error `json:"error"`
}

// Shown returns a parameter or an output as clients see it; a secret has only a type.
func Shown(kind string, v expr.Value) Parameter {
	p := Parameter{Type: template.TypeName(kind)}
	if !secret.Is(kind, v) && v.Known() {
		p.Value = v.AppendJSON(nil)
	}
	return p
}

// Operations returns the steps that a deployment has begun, or had at its end.
func Operations(ctx context.Context, of *deploymentrow.Deployments, name deploymentrow.Name, found deploymentrow.Deployment, record Stored) ([]Operation, error) {
	if found.State != deploymentrow.Running {
		return endedOperations(ctx, of, name, found.Job)
	}
	job, within := found.Job, 0
	if record.Within != nil {
		name, within = record.Within.Deployment, record.Within.Step+1
	}
	steps, err := of.Steps(ctx, name, job)
	if err != nil {
		return nil, fmt.Errorf("read the steps of a deployment: %w", err)
	}
	var all []Operation
	for _, number := range slices.Sorted(maps.Keys(steps)) {
		var s stepRecord
		if err := json.Unmarshal(steps[number].Record, &s); err != nil {
			return nil, fmt.Errorf("read the record of step %d: %w", number, err)
		}
		if !s.Began.IsZero() && s.Within == within {
			all = append(all, s.operation(record.ID, job, number, deployplan.State(steps[number].State)))
		}
	}
	return all, nil
}

func endedOperations(ctx context.Context, of *deploymentrow.Deployments, name deploymentrow.Name, job [16]byte) (all []Operation, err error) {
	text, err := of.Operations(ctx, name, job)
	if err == nil && len(text) > 0 {
		err = json.Unmarshal(text, &all)
	}
	if err != nil {
		return nil, fmt.Errorf("read the operations of a deployment: %w", err)
	}
	return all, nil
}

// Template returns the template of a deployment that runs. Nested deployments have none.
func Template(ctx context.Context, of *deploymentrow.Deployments, name deploymentrow.Name, job [16]byte) ([]byte, error) {
	content, err := of.Content(ctx, name, job)
	var o Order
	if err == nil {
		err = json.Unmarshal(content, &o)
	}
	if err != nil {
		return nil, fmt.Errorf("read the template of a deployment: %w", err)
	}
	read, _, faults := o.read()
	if len(faults) > 0 {
		return nil, faults[0]
	}
	return read.Value.AppendJSON(nil), nil
}

// operation returns a step as clients see it. id and job are the deployment's.
func (s *stepRecord) operation(id string, job [16]byte, number int, state deployplan.State) Operation {
	sum := sha256.Sum256(fmt.Append(job[:], number))
	op := Operation{OperationID: fmt.Sprintf("%X", sum[:8])}
	op.ID = id + "/operations/" + op.OperationID
	shown, ended := state.String(), s.Ended
	if !state.Over() {
		shown, ended = "Running", s.Began
	}
	op.Properties = OperationProperties{
		ProvisioningOperation: "Create", ProvisioningState: shown, Timestamp: ended, Duration: duration(ended.Sub(s.Began)), TargetResource: s.Target,
	}
	if s.Removes {
		op.Properties.ProvisioningOperation = "Delete"
	}
	if s.Status > 0 {
		op.Properties.StatusCode = strings.ReplaceAll(http.StatusText(s.Status), " ", "")
	}
	if s.Fault != nil && state != deployplan.Succeeded { // it may have failed before it succeeded
		op.Properties.StatusMessage = &StatusMessage{state.String(), s.Fault}
	}
	return op
}

// Record returns the record of a deployment that begins.
func (o *Order) Record(of *document.Node, p *template.Plan) Stored {
	record := Stored{Record: Record{ID: o.ID(), Name: o.Name, Type: Type, Tags: o.Tags}}
	if o.Scope.Group == "" {
		record.Location = o.Location
	}
	record.Properties = newProperties(of.Hash(), p.Parameters, o.mode(), o.Correlation, o.Now)
	record.Properties.Settings = o.Settings
	steps := stepsOf(p, 0, outermost)
	record.add(steps, outermost)
	record.First = firstIn(steps, outermost)
	return record
}

func newProperties(hash string, parameters []template.Parameter, mode, correlation string, began time.Time) Properties {
	p := Properties{TemplateHash: hash,
		Parameters: map[string]Parameter{}, Mode: mode, ProvisioningState: "Accepted", Timestamp: began, Duration: duration(0),
		CorrelationID: correlation, Providers: []Provider{}, Dependencies: []Dependency{}}
	for _, v := range parameters {
		shown := Shown(v.Type, v.Value)
		if !p.fits(len(v.Name) + len(shown.Value)) {
			break
		}
		p.Parameters[v.Name] = shown
	}
	return p
}

// add adds the steps directly in a deployment to its record.
func (record *Record) add(steps []step, within int) {
	p := &record.Properties
	for i := range steps {
		s := &steps[i]
		if s.within != within || s.existing() {
			continue
		}
		if len(s.dependsOn) > 0 {
			d := Dependency{Reference: s.reference()}
			for _, on := range s.dependsOn {
				r := steps[on].reference()
				if !p.fits(len(r.ID) + len(r.ResourceType) + len(r.ResourceName)) {
					return
				}
				d.DependsOn = append(d.DependsOn, r)
			}
			p.Dependencies = append(p.Dependencies, d)
		}
		p.addProvider(s)
	}
}

func (p *Properties) addProvider(s *step) {
	namespace, name, _ := strings.Cut(s.reference().ResourceType, "/")
	i := slices.IndexFunc(p.Providers, func(known Provider) bool { return arm.EqualFold(known.Namespace, namespace) })
	if i < 0 {
		i = len(p.Providers)
		p.Providers = append(p.Providers, Provider{Namespace: namespace})
	}
	types := &p.Providers[i].ResourceTypes
	k := slices.IndexFunc(*types, func(known ResourceType) bool { return arm.EqualFold(known.ResourceType, name) })
	if k < 0 {
		k = len(*types)
		*types = append(*types, ResourceType{ResourceType: name, Locations: []string{}})
	}
	if at := s.location(); at != "" && !slices.Contains((*types)[k].Locations, at) {
		(*types)[k].Locations = append((*types)[k].Locations, at)
	}
}

// duration formats a time as in ISO 8601.
func duration(d time.Duration) string {
	return fmt.Sprintf("PT%gS", max(0, d).Truncate(time.Millisecond).Seconds())
}

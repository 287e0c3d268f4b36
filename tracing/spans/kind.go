package spans

import "go.opentelemetry.io/otel/trace"

// Kind is what a span measures.
type Kind uint8

// The kinds of spans.
const (
	Request Kind = iota
	RegionList
	ProviderCall
	StoreWrite
	StoreRead
	JobAttempt
	JobStep
	SweepRegion
	Delivery
	kindCount
)

// KindDescription describes a kind of span for readers of traces.
type KindDescription struct {
	// Name is the span's name, or a pattern of it.
	Name string
	// Role is OpenTelemetry's kind.
	Role       trace.SpanKind
	Meaning    string
	Attributes []Attribute
}

// Kinds returns the descriptions of all kinds of spans, in order.
func Kinds() []KindDescription {
	all := make([]KindDescription, kindCount)
	for k := range all {
		all[k] = Kind(k).describe()
	}
	return all
}

func (k Kind) describe() KindDescription {
	switch k {
	case Request:
		return KindDescription{
			"{method} {route}", trace.SpanKindServer,
			"A request, from its arrival to the end of its answer. The route is that of Portico's own resource, or else the class of the request " +
				"as in the access log. Requests of a batch are children of the batch's request.",
			[]Attribute{Method, Status, Class, Route, Namespace, ResourceType, Region, Resource, Subscription, Outcome, Cause, Correlation, RequestID},
		}
	case RegionList:
		return KindDescription{
			"list region", trace.SpanKindInternal, "One region's part of a merged list, including retries.",
			[]Attribute{Region, Namespace, Outcome},
		}
	case ProviderCall:
		return KindDescription{
			"call {method}", trace.SpanKindClient,
			"One attempt to call one address of a provider, until its answer has been read. The provider gets its id as the parent.",
			[]Attribute{Method, Status, Namespace, Region, Address, Attempt, Sent, Fault, Queued},
		}
	case StoreWrite:
		return KindDescription{
			"store write", trace.SpanKindClient, "A transaction of the store, from the wait for its turn to its commit.",
			[]Attribute{Engine, Operation, Queued, Shared, Tries, Fault},
		}
	case StoreRead:
		return KindDescription{
			"store read", trace.SpanKindClient, "A read of the store that memory could not answer.",
			[]Attribute{Engine, Operation, Fault},
		}
	case JobAttempt:
		return KindDescription{
			"job {kind}", trace.SpanKindConsumer, "An attempt at durable work, by one replica.",
			[]Attribute{Job, JobID, Tries, Region, Subscription, Outcome, Correlation},
		}
	case JobStep:
		return KindDescription{
			"step {what}", trace.SpanKindInternal, "A step of durable work: one resource, or one call.",
			[]Attribute{Resource, Outcome},
		}
	case SweepRegion:
		return KindDescription{
			"sweep region", trace.SpanKindInternal, "A sweep of one type in one region: its list and the comparison.",
			[]Attribute{ResourceType, Region, Outcome},
		}
	case Delivery:
		return KindDescription{
			"deliver {sink}", trace.SpanKindProducer,
			"An attempt to deliver a message to a sink, including reads of the store for it. It is a trace of its own.",
			[]Attribute{Events, Status, Outcome},
		}
	case kindCount:
	}
	return KindDescription{}
}

// role returns OpenTelemetry's kind. It does not use describe, which allocates.
func (k Kind) role() trace.SpanKind {
	switch k {
	case Request:
		return trace.SpanKindServer
	case ProviderCall, StoreWrite, StoreRead:
		return trace.SpanKindClient
	case JobAttempt:
		return trace.SpanKindConsumer
	case Delivery:
		return trace.SpanKindProducer
	case RegionList, JobStep, SweepRegion, kindCount:
	}
	return trace.SpanKindInternal
}

// Attribute is the name of a span's attribute.
type Attribute string

// The attributes. Names without the prefix portico are OpenTelemetry's.
const (
	Method  Attribute = "http.request.method"
	Status  Attribute = "http.response.status_code"
	Route   Attribute = "http.route"
	Address Attribute = "server.address"
	Engine  Attribute = "db.system.name"
	// Operation is the called method of the store.
	Operation Attribute = "db.operation.name"
	// Fault is a value from the metrics' lists of faults.
	Fault        Attribute = "error.type"
	Class        Attribute = "portico.class"
	Namespace    Attribute = "portico.provider"
	ResourceType Attribute = "portico.resource_type"
	Region       Attribute = "portico.region"
	Resource     Attribute = "portico.resource"
	Subscription Attribute = "portico.subscription"
	Outcome      Attribute = "portico.outcome"
	Cause        Attribute = "portico.cause"
	Correlation  Attribute = "portico.correlation_id"
	RequestID    Attribute = "portico.request_id"
	Attempt      Attribute = "portico.attempt"
	Sent         Attribute = "portico.sent"
	Queued       Attribute = "portico.queued_seconds"
	Shared       Attribute = "portico.writes_in_transaction"
	Tries        Attribute = "portico.tries"
	Job          Attribute = "portico.job.kind"
	JobID        Attribute = "portico.job"
	Events       Attribute = "portico.events"
)

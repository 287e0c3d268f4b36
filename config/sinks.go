package config

import (
	"fmt"
	"net/url"
	"time"

	"portico/config/files"
	"portico/config/rule"
	"portico/config/setting"
	"portico/config/yamltree"
)

// MostSinks is the maximum number of sinks: each has its own slot for its job.
const MostSinks = 16

// Sink is a receiver of events: a webhook.
type Sink struct {
	Name string
	URL  *url.URL // its query may contain a secret
	// Secret, if set, and the secrets in SecretFile sign deliveries.
	Secret     []byte
	SecretFile string
	BearerFile string
	CA         string // a PEM file; "" means the system's authorities
	Earliest   bool   // a new sink starts with the oldest stored event

	// An event is sent if it matches an entry of each list that is not empty.
	Types, Actions, Subscriptions, ResourceGroups []string

	Batch, Concurrency  int
	Timeout             time.Duration
	Backoff, MaxBackoff time.Duration
	GiveUpAfter         time.Duration
	Retrying, Dead      int

	allowHTTP bool
	startAt   string
}

func sinkRows(r *files.Reader, sinks *[]Sink) *setting.Setting {
	names := r.Unique("the sink")
	return setting.Mappings("sinks", "Webhooks that receive events, at most 16; see docs/events.md.",
		func(s *Sink) []*setting.Setting { return s.rows() },
		func(o *setting.Object, s Sink) {
			s.check(r, o)
			if at := o.Valid("name"); at != nil && names.Add(at, s.Name, s.Name) {
				if *sinks = append(*sinks, s); len(*sinks) == MostSinks+1 {
					o.Fault(at, fmt.Sprintf("events.sinks has more than %d", MostSinks), fmt.Sprintf("at most %d", MostSinks))
				}
			}
		}).Default("none")
}

func (s *Sink) rows() []*setting.Setting {
	return []*setting.Setting{
		setting.Required("name", &s.Name, rule.Identifier(),
			"The sink's name in the API and in metrics. Its position in the events is stored under this name, and kept for a day if the sink is "+
				"removed from the configuration."),
		setting.Required("url", &s.URL, rule.Webhook(), "Where events are sent. Only the host of the URL is ever shown."),
		setting.Value("allowHTTP", &s.allowHTTP, rule.Bool(), false, "Allows an `http://` URL beyond this machine, for a network that encrypts by "+
			"itself."),
		setting.Value("secret", &s.Secret, rule.WebhookSecret(), nil, "The secret that signs deliveries, in the format of Standard Webhooks.").
			Default("none"),
		setting.Value("secretFile", &s.SecretFile, rule.File(), "", "A file with such secrets, one per line. Each of them signs, so secrets can "+
			"be rotated without a gap: add the new one, switch the receiver to it, remove the old one. The file is reloaded when it changes.").Default("none"),
		setting.Value("bearerFile", &s.BearerFile, rule.File(), "", "A file with a token that is sent as `Authorization: Bearer …`, in addition "+
			"to a signature or instead of it. The file is reloaded when it changes.").Default("none"),
		setting.Value("ca", &s.CA, rule.PEMFile(), "", "Certificate authorities that must have issued the receiver's certificate.").Default("the system's"),
		setting.Value("from", &s.startAt, rule.OneOf("now", "earliest"), "now",
			"Where a new sink starts: `now`, or `earliest` for the oldest stored event."),
		patternList("types", &s.Types, "Types of events to send, such as `Microsoft.Resources.ResourceDelete*`."),
		patternList("actions", &s.Actions, "Actions of events to send, as in `operationName`, such as `Contoso.Compute/virtualMachines/*` or "+
			"`*/delete`."),
		setting.List("subscriptions", rule.GUID(), "Subscriptions of events to send.",
			func(_ *yamltree.Node, id string) { s.Subscriptions = append(s.Subscriptions, id) }).Default("all"),
		patternList("resourceGroups", &s.ResourceGroups, "Names of resource groups of events to send."),
		setting.Value("batch", &s.Batch, rule.CountTo(100), 1, "Maximum number of events per request. With 1, each event is sent as "+
			"`application/cloudevents+json`; with more, events are sent in arrays as `application/cloudevents-batch+json`."),
		setting.Value("concurrency", &s.Concurrency, rule.CountTo(16), 4,
			"Number of concurrent requests. Events of one resource are always sent in order."),
		setting.Value("timeout", &s.Timeout, rule.PositiveDurationTo(time.Minute), 10*time.Second, "Timeout of a request."),
		setting.Value("backoff", &s.Backoff, rule.PositiveDurationTo(time.Minute), time.Second,
			"The delay after the first failed attempt. It doubles with each further failure."),
		setting.Value("maxBackoff", &s.MaxBackoff, rule.PositiveDurationTo(time.Hour), 5*time.Minute,
			"The maximum delay, even if a Retry-After asks for more."),
		setting.Value("giveUpAfter", &s.GiveUpAfter, rule.PositiveDuration(), 24*time.Hour,
			"How long an event that the receiver refuses is retried before it becomes a dead letter, if the receiver accepts others. A receiver "+
				"that accepts nothing is considered unavailable, and loses nothing."),
		setting.Value("retrying", &s.Retrying, rule.CountTo(100_000), 1000,
			"Maximum number of events that are retried while later ones are sent. If it is reached, the sink waits for them."),
		setting.Value("deadLetters", &s.Dead, rule.CountTo(1_000_000), 10_000, "Maximum number of stored dead letters. If it is reached, no "+
			"further event becomes one."),
	}
}

func patternList(key string, into *[]string, doc string) *setting.Setting {
	return setting.List(key, rule.TextLike("a text in which * matches anything; case is ignored"),
		doc+" A `*` stands for anything; case does not matter.",
		func(_ *yamltree.Node, pattern string) { *into = append(*into, pattern) }).Default("all")
}

// check checks the settings of a sink together.
func (s *Sink) check(r *files.Reader, o *setting.Object) {
	s.Earliest = s.startAt == "earliest"
	files.CheckPEM(r, o, "ca", &s.CA)
	files.CheckPEM(r, o, "secretFile", &s.SecretFile)
	files.CheckPEM(r, o, "bearerFile", &s.BearerFile)
	if at := o.Valid("url"); at != nil && s.URL.Scheme == "http" && !s.allowHTTP && !rule.LoopbackHost(s.URL.Hostname()) {
		o.Fault(at, o.Path+".url is neither https nor a loopback address", "https://…, or allowHTTP: true")
	}
	if o.Get("secret") == nil && o.Get("secretFile") == nil && o.Get("bearerFile") == nil && !o.Broken {
		o.Fault(o.Node, o.Path+" has no credential by which its receiver could authenticate the gateway", "secret, secretFile or bearerFile")
	}
	if s.MaxBackoff < s.Backoff {
		o.Fault(o.At("maxBackoff", "backoff"), o.Path+".maxBackoff is less than backoff", "at least backoff")
	}
}

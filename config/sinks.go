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
	return setting.Mappings("sinks", "Webhooks that receive events; see docs/events.md. At most 16.",
		func(s *Sink) []*setting.Setting { return s.rows() },
		func(o *setting.Object, s Sink) {
			s.check(r, o)
			if at := o.Right("name"); at != nil && names.Add(at, s.Name, s.Name) {
				if *sinks = append(*sinks, s); len(*sinks) == MostSinks+1 {
					o.Fault(at, fmt.Sprintf("events.sinks has more than %d", MostSinks), fmt.Sprintf("at most %d", MostSinks))
				}
			}
		}).Default("none")
}

func (s *Sink) rows() []*setting.Setting {
	return []*setting.Setting{
		setting.Required("name", &s.Name, rule.Identifier(),
			"Its name, in the API and in metrics. How far it has come is kept by this name, for a day also where it is taken out of the configuration."),
		setting.Required("url", &s.URL, rule.Webhook(), "Where events are sent. What the URL holds beside the host is never shown."),
		setting.Value("allowHTTP", &s.allowHTTP, rule.Bool(), false, "Lets the URL be `http://` beyond this machine, for a network that encrypts by itself."),
		setting.Value("secret", &s.Secret, rule.WebhookSecret(), nil, "The secret by which what is sent is signed, in the form of the Standard Webhooks.").
			Default("none"),
		setting.Value("secretFile", &s.SecretFile, rule.File(), "", "A file of such secrets, one a line. Each signs, so that secrets can be changed "+
			"without a gap: add the new one, have the receiver use it, take the old one out. It is read anew when it changes.").Default("none"),
		setting.Value("bearerFile", &s.BearerFile, rule.File(), "", "A file of a token that is sent as `Authorization: Bearer …`, beside or in place of a "+
			"signature. It is read anew when it changes.").Default("none"),
		setting.Value("ca", &s.CA, rule.PEMFile(), "", "The authorities that the receiver's certificate must come from.").Default("the system's"),
		setting.Value("from", &s.startAt, rule.OneOf("now", "earliest"), "now",
			"Where a sink of a new name begins: `now`, or `earliest` for the first event that is kept."),
		patternList("types", &s.Types, "Which types of events it is sent, such as `Microsoft.Resources.ResourceDelete*`."),
		patternList("actions", &s.Actions, "Of which actions, as `operationName` says them, such as `Contoso.Compute/virtualMachines/*` or `*/delete`."),
		setting.List("subscriptions", rule.GUID(), "Of which subscriptions.",
			func(_ *yamltree.Node, id string) { s.Subscriptions = append(s.Subscriptions, id) }).Default("all"),
		patternList("resourceGroups", &s.ResourceGroups, "Of which resource groups, by name."),
		setting.Value("batch", &s.Batch, rule.CountTo(100), 1, "How many events are sent in one request at most. With 1 each is sent alone, as "+
			"`application/cloudevents+json`; with more all come in arrays, as `application/cloudevents-batch+json`."),
		setting.Value("concurrency", &s.Concurrency, rule.CountTo(16), 4,
			"How many requests it gets at a time. Events of one resource come one after another whatever this says."),
		setting.Value("timeout", &s.Timeout, rule.PositiveDurationTo(time.Minute), 10*time.Second, "What it may take for an answer."),
		setting.Value("backoff", &s.Backoff, rule.PositiveDurationTo(time.Minute), time.Second,
			"The pause after the first attempt that failed; it doubles with each further one."),
		setting.Value("maxBackoff", &s.MaxBackoff, rule.PositiveDurationTo(time.Hour), 5*time.Minute,
			"The longest pause, also where a Retry-After asks for more."),
		setting.Value("giveUpAfter", &s.GiveUpAfter, rule.PositiveDuration(), 24*time.Hour,
			"After how long an event that is not taken becomes a dead letter, while others are taken. A receiver that takes nothing is "+
				"away, and loses nothing."),
		setting.Value("retrying", &s.Retrying, rule.CountTo(100_000), 1000,
			"How many events may be left behind to be tried again, while others go on. When there are as many, the sink waits for them."),
		setting.Value("deadLetters", &s.Dead, rule.CountTo(1_000_000), 10_000, "How many dead letters are kept. When there are as many, no event is given up."),
	}
}

func patternList(key string, into *[]string, doc string) *setting.Setting {
	return setting.List(key, rule.TextLike("a text in which * stands for anything, without regard to case"),
		doc+" A `*` stands for anything; case does not matter.",
		func(_ *yamltree.Node, pattern string) { *into = append(*into, pattern) }).Default("all")
}

// check checks the settings of a sink together.
func (s *Sink) check(r *files.Reader, o *setting.Object) {
	s.Earliest = s.startAt == "earliest"
	files.CheckPEM(r, o, "ca", &s.CA)
	files.CheckPEM(r, o, "secretFile", &s.SecretFile)
	files.CheckPEM(r, o, "bearerFile", &s.BearerFile)
	if at := o.Right("url"); at != nil && s.URL.Scheme == "http" && !s.allowHTTP && !rule.LoopbackHost(s.URL.Hostname()) {
		o.Fault(at, o.Path+".url is neither https nor on this machine", "https://…, or allowHTTP: true beside it")
	}
	if o.Get("secret") == nil && o.Get("secretFile") == nil && o.Get("bearerFile") == nil && !o.Broken {
		o.Fault(o.Node, o.Path+" has nothing by which its receiver knows the sender", "secret, secretFile or bearerFile")
	}
	if s.MaxBackoff < s.Backoff {
		o.Fault(o.At("maxBackoff", "backoff"), o.Path+".maxBackoff is less than backoff", "at least backoff")
	}
}

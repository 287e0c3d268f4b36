package config

import (
	"net/url"
	"time"

	"portico/config/files"
	"portico/config/rule"
	"portico/config/setting"
)

// Tracing configures which traces are recorded, and where they are sent.
type Tracing struct {
	OTLP             string // the collector's URL; "" disables tracing
	Sample           rule.Part
	CallersPerSecond int
	HeadersFile, CA  string // may be ""
	Service          string
	Instance         string // "" means the gateway's own name
	Attributes       []TraceAttribute
	Queue            int
	Interval         time.Duration
	Timeout          time.Duration
}

// TraceAttribute is an attribute of all spans of this gateway.
type TraceAttribute struct{ Name, Value string }

func (t *Tracing) rows(r *files.Reader) *setting.Setting {
	return setting.Mapping("tracing", "OpenTelemetry traces of requests and of durable work.",
		setting.Required("otlp", &t.OTLP, rule.WebURL(),
			"The collector's URL, for OTLP over HTTP with protobuf; traces are sent to `v1/traces` below it. Environment variables such as "+
				"`OTEL_EXPORTER_OTLP_ENDPOINT` are ignored.").RestartOnly(),
		setting.Value("sample", &t.Sample, rule.Fraction(), 0.01,
			"Fraction of requests that are traced, and of attempts at durable work that no traced request began. What is not sampled costs "+
				"nothing, and its errors and slow requests are not recorded. With 1, a collector can sample at the end of each trace.").
			Allowed("0 to 1"),
		setting.Value("callersPerSecond", &t.CallersPerSecond, rule.CountOrZero(), 10,
			"Maximum number of requests per second that are traced because a trusted caller's `traceparent` asks for it, regardless of "+
				"`tracing.sample`. `server.trustedProxies` are trusted."),
		setting.Value("headersFile", &t.HeadersFile, rule.File(), "",
			"A file with headers for the collector, such as `Authorization: Bearer …`, one per line. The file is reloaded when it changes.").Default("none"),
		setting.Value("ca", &t.CA, rule.PEMFile(), "",
			"Certificate authorities that must have issued the collector's certificate. The file is reloaded when it changes.").Default("the system's"),
		setting.Value("service", &t.Service, rule.Text(), "portico", "The attribute `service.name` of all spans.").RestartOnly(),
		setting.Value("instance", &t.Instance, rule.Text(), "", "The attribute `service.instance.id` of all spans.").
			Default("the host name with a suffix that is new at each start").RestartOnly(),
		t.attributeRows(r),
		setting.Value("queue", &t.Queue, rule.CountTo(1_000_000), 8192,
			"Maximum number of spans that wait to be sent, each about 2 KB of memory. Further spans are dropped and counted.").RestartOnly(),
		setting.Value("interval", &t.Interval, rule.PositiveDurationTo(time.Minute), time.Second,
			"How long a span waits for others to be sent with. If the process is killed, unsent spans are lost.").RestartOnly(),
		setting.Value("timeout", &t.Timeout, rule.PositiveDurationTo(time.Minute), 10*time.Second,
			"Timeout of an attempt to send spans. Nothing else waits for it.").RestartOnly(),
	).Check(func(o *setting.Object) {
		files.CheckPEM(r, o, "ca", &t.CA)
		if n := o.Valid("headersFile"); n != nil {
			t.HeadersFile = r.NamedFile(n, "tracing.headersFile", t.HeadersFile)
			if u, err := url.Parse(t.OTLP); err == nil && u.Scheme == "http" && !rule.LoopbackHost(u.Hostname()) {
				o.Fault(n, "tracing.headersFile: its headers would be sent in plain text",
					"an https URL as tracing.otlp, or a loopback address")
			}
		}
	}).IfGiven().Default("no traces")
}

func (t *Tracing) attributeRows(r *files.Reader) *setting.Setting {
	names := r.Unique("the attribute")
	return setting.RestartOnly(&t.Attributes, nil, setting.Mappings("attributes", "Further attributes of all spans, such as `deployment.environment.name`.",
		func(a *TraceAttribute) []*setting.Setting {
			return []*setting.Setting{
				setting.Required("name", &a.Name, rule.Text(), "The attribute's name, which must be unique."),
				setting.Required("value", &a.Value, rule.Text(), "Its value."),
			}
		}, func(o *setting.Object, a TraceAttribute) {
			if at := o.Valid("name"); at != nil && names.Add(at, a.Name, a.Name) {
				t.Attributes = append(t.Attributes, a)
			}
		}).Default("none"))
}

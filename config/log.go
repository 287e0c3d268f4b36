package config

import (
	"time"

	"portico/config/files"
	"portico/config/rule"
	"portico/config/setting"
)

// AuditStderr selects the standard error for audit lines.
const AuditStderr = "stderr"

// Forms of the log on standard error.
const (
	LogAuto = "auto" // LogText on a terminal, otherwise LogJSON
	LogJSON = "json"
	LogText = "text"
)

// Log configures which requests are logged, and the form of the log.
type Log struct {
	Format string
	Audit  string // AuditStderr, or the path of a file
	Slow   time.Duration
	// OneIn is, by class of requests, how many successful reads share one log line. All reads of a
	// class without a value are logged.
	OneIn map[string]int
}

// logClasses returns the keys of Log.OneIn and their descriptions.
func logClasses() []struct{ name, doc string } {
	return []struct{ name, doc string }{
		{"own", "Requests that the gateway answers itself."},
		{"none", "Requests without a route."},
		{"instance", "A resource."},
		{"collection", "A list of resources."},
		{"below", "Requests below a resource that do not address a resource."},
		{"provider", "Requests to a provider as a whole."},
		{"located", "Requests to a provider in one region."},
		{"poll", "Polls of operations."},
	}
}

func (l *Log) rows() *setting.Setting {
	return setting.Mapping("log", "The log, and which requests are in it. All other messages go to the standard error, from the level `--log-level` on.",
		setting.Value("format", &l.Format, rule.OneOf(LogAuto, LogJSON, LogText), LogAuto,
			"The form of lines on the standard error. `json`: an object per line. `text`: for people. `auto`: `text` on a terminal, otherwise "+
				"`json`. A file of `audit` always has `json`.").
			RestartOnly(),
		setting.Value("audit", &l.Audit, rule.Text(), AuditStderr,
			"Where audit lines go, one for each write: `stderr`, or a file to which they are appended. Its path is relative to the file with this "+
				"setting.").
			RestartOnly().Allowed("stderr, or a path"),
		setting.Value("slow", &l.Slow, rule.Duration(), time.Second, "Requests that take at least this long are logged regardless of `log.oneIn`."),
		l.oneInRows(),
	).Check(func(o *setting.Object) {
		if n := o.Valid("audit"); n != nil && l.Audit != AuditStderr {
			l.Audit = files.RelativeTo(n.File, l.Audit)
		}
	})
}

func (l *Log) oneInRows() *setting.Setting {
	classes := logClasses()
	numbers, rows := make([]int, len(classes)), make([]*setting.Setting, len(classes))
	for i, class := range classes {
		rows[i] = setting.Value(class.name, &numbers[i], rule.Count(), 1, class.doc)
	}
	return setting.Mapping("oneIn", "Log one in this many successful reads, by what they address. Errors and writes are always logged.",
		rows...).Check(func(o *setting.Object) {
		for i, class := range classes {
			if o.Valid(class.name) == nil {
				continue
			}
			if l.OneIn == nil {
				l.OneIn = make(map[string]int)
			}
			l.OneIn[class.name] = numbers[i]
		}
	})
}

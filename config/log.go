package config

import (
	"time"

	"portico/config/files"
	"portico/config/rule"
	"portico/config/setting"
)

// AuditStderr selects the standard error for audit lines.
const AuditStderr = "stderr"

// Log configures which requests are logged.
type Log struct {
	Audit string // AuditStderr, or the path of a file
	Slow  time.Duration
	// OneIn is, by class of requests, how many successful reads share one log line. All reads of a
	// class without a value are logged.
	OneIn map[string]int
}

// logClasses returns the keys of Log.OneIn and their descriptions.
func logClasses() []struct{ name, doc string } {
	return []struct{ name, doc string }{
		{"own", "What the gateway answers itself."},
		{"none", "What is no route."},
		{"instance", "A resource."},
		{"collection", "A list of resources."},
		{"below", "What lies below a resource and is none itself."},
		{"provider", "What belongs to a provider as a whole."},
		{"located", "What belongs to a provider in one region."},
		{"poll", "Polls of operations."},
	}
}

func (l *Log) rows() *setting.Setting {
	return setting.Mapping("log", "What is written of requests. All else goes to the standard error, from the level of `--log-level` on.",
		setting.Value("audit", &l.Audit, rule.Text(), AuditStderr,
			"Where the lines of writes go, one for each: the word `stderr`, or a file, relative to the one that this stands in, to which they are added.").
			RestartOnly().Allowed("stderr, or a path"),
		setting.Value("slow", &l.Slow, rule.Duration(), time.Second, "A request that took this long is written whatever `log.oneIn` says."),
		l.oneInRows(),
	).Check(func(o *setting.Object) {
		if n := o.Right("audit"); n != nil && l.Audit != AuditStderr {
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
	return setting.Mapping("oneIn", "Of how many reads that went well one is written, by what they address. Errors and writes are always written.",
		rows...).Check(func(o *setting.Object) {
		for i, class := range classes {
			if o.Right(class.name) == nil {
				continue
			}
			if l.OneIn == nil {
				l.OneIn = make(map[string]int)
			}
			l.OneIn[class.name] = numbers[i]
		}
	})
}

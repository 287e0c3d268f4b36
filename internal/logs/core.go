// Package logs writes Portico's logs: JSON, one object per line, or a line of text for
// people, whatever the texts contain, and without secrets. There are three kinds of lines, distinguished by their
// logger: access (one per request), audit (one per write), and all else.
//
// Access lines are written in batches ([Access]): they are by far the most, and may be
// lost. All others are written one by one, before the logging goroutine continues.
//
// Redaction does not depend on the care of the calling code: every logged text is
// searched for credentials, and a query shows only the values of known harmless
// parameters.
package logs

import (
	"fmt"
	"io"
	"strconv"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
)

// core redacts every text before it is encoded. Fields that marshal
// themselves have to redact their own texts with [Text].
type core struct {
	zapcore.Core
	all  zapcore.Core // the same output, for lines of every level
	to   zapcore.WriteSyncer
	text bool // for people
}

func (c *core) With(fields []zapcore.Field) zapcore.Core {
	fields = redacted(fields)
	return &core{Core: c.Core.With(fields), all: c.all.With(fields), to: c.to, text: c.text}
}

func (c *core) Check(e zapcore.Entry, checked *zapcore.CheckedEntry) *zapcore.CheckedEntry {
	if c.Enabled(e.Level) {
		return checked.AddCore(e, c)
	}
	return checked
}

func (c *core) Write(e zapcore.Entry, fields []zapcore.Field) error {
	e.Message = Text(e.Message)
	if c.text { // only the encoder of JSON escapes messages
		quoted := strconv.Quote(e.Message)
		e.Message = quoted[1 : len(quoted)-1]
	}
	return c.Core.Write(e, redacted(fields))
}

// redacted returns the fields without secrets; it copies only fields with secrets.
func redacted(fields []zapcore.Field) []zapcore.Field {
	var clean []zapcore.Field
	for i, f := range fields {
		plain, changed := redactField(f)
		if changed && clean == nil {
			clean = append(make([]zapcore.Field, 0, len(fields)), fields[:i]...)
		}
		if clean != nil {
			clean = append(clean, plain)
		}
	}
	if clean == nil {
		return fields
	}
	return clean
}

func redactField(f zapcore.Field) (zapcore.Field, bool) {
	var text string
	switch f.Type {
	case zapcore.StringType:
		text = f.String
	case zapcore.ByteStringType:
		bytes, _ := f.Interface.([]byte)
		text = string(bytes)
	case zapcore.ErrorType:
		err, _ := f.Interface.(error)
		if err == nil {
			return f, false
		}
		text = err.Error()
	case zapcore.StringerType:
		return f, false // our own addresses and enumerations
	case zapcore.ReflectType:
		text = fmt.Sprint(f.Interface)
		return zap.String(f.Key, Text(text)), true
	default:
		return f, false
	}
	plain := Text(text)
	if plain == text && f.Type != zapcore.ErrorType {
		return f, false
	}
	return zap.String(f.Key, plain), true
}

// Names of the loggers with special lines.
const (
	AccessName = "access"
	AuditName  = "audit"
)

// New returns a logger for lines of a level (debug, info, warn, error) or
// above, each in one write. With text, only the fields of a line are JSON.
func New(level string, to io.Writer, text bool) (*zap.Logger, error) {
	l, err := zapcore.ParseLevel(level)
	if err != nil {
		return nil, err
	}
	return zap.New(newCore(zapcore.Lock(zapcore.AddSync(to)), l, text)), nil
}

func newCore(to zapcore.WriteSyncer, level zapcore.LevelEnabler, text bool) *core {
	c := zap.NewProductionEncoderConfig()
	c.EncodeTime = zapcore.RFC3339NanoTimeEncoder
	c.EncodeDuration = zapcore.SecondsDurationEncoder
	encoder := zapcore.NewJSONEncoder(c)
	if text {
		c.EncodeTime, c.EncodeLevel, c.ConsoleSeparator = zapcore.TimeEncoderOfLayout(time.TimeOnly), zapcore.CapitalLevelEncoder, " "
		encoder = zapcore.NewConsoleEncoder(c)
	}
	return &core{
		Core: zapcore.NewCore(encoder, escaping{to}, level),
		all:  zapcore.NewCore(encoder, escaping{to}, zapcore.InfoLevel),
		to:   to,
		text: text,
	}
}

// Audit returns a logger of audit lines with the output of log, regardless of its level.
func Audit(log *zap.Logger) *zap.Logger {
	return log.Named(AuditName).WithOptions(zap.WrapCore(func(c zapcore.Core) zapcore.Core {
		if own, ok := c.(*core); ok {
			return &core{Core: own.all, all: own.all, to: own.to, text: own.text}
		}
		return c
	}))
}

package logs

import (
	"fmt"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
)

// core redacts every text on its way to the encoder. Fields that marshal
// themselves have to see to it by themselves, by [Text].
type core struct {
	zapcore.Core
	all zapcore.Core // the same place, for lines that no level holds back
	to  zapcore.WriteSyncer
}

func (c *core) With(fields []zapcore.Field) zapcore.Core {
	fields = redacted(fields)
	return &core{Core: c.Core.With(fields), all: c.all.With(fields), to: c.to}
}

func (c *core) Check(e zapcore.Entry, checked *zapcore.CheckedEntry) *zapcore.CheckedEntry {
	if c.Enabled(e.Level) {
		return checked.AddCore(e, c)
	}
	return checked
}

func (c *core) Write(e zapcore.Entry, fields []zapcore.Field) error {
	e.Message = Text(e.Message)
	return c.Core.Write(e, redacted(fields))
}

// redacted returns the fields without secrets; those that hold none are not
// copied.
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
		return f, false // addresses and enumerations of our own
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

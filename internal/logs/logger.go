package logs

import (
	"io"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
)

// Names of the loggers that have lines of their own form.
const (
	AccessName = "access"
	AuditName  = "audit"
)

// New returns a logger that writes lines of a level (debug, info, warn, error) or
// above, one write for each.
func New(level string, to io.Writer) (*zap.Logger, error) {
	l, err := zapcore.ParseLevel(level)
	if err != nil {
		return nil, err
	}
	return zap.New(newCore(zapcore.Lock(zapcore.AddSync(to)), l)), nil
}

func newCore(to zapcore.WriteSyncer, level zapcore.LevelEnabler) *core {
	c := zap.NewProductionEncoderConfig()
	c.EncodeTime = zapcore.RFC3339NanoTimeEncoder
	c.EncodeDuration = zapcore.SecondsDurationEncoder
	encoder := lineEncoder{zapcore.NewJSONEncoder(c)}
	return &core{
		Core: zapcore.NewCore(encoder, escaping{to}, level),
		all:  zapcore.NewCore(encoder, escaping{to}, zapcore.InfoLevel),
		to:   to,
	}
}

// Audit returns the logger of audit lines that go where those of log do,
// whatever its level is.
func Audit(log *zap.Logger) *zap.Logger {
	return log.Named(AuditName).WithOptions(zap.WrapCore(func(c zapcore.Core) zapcore.Core {
		if own, ok := c.(*core); ok {
			return &core{Core: own.all, all: own.all, to: own.to}
		}
		return c
	}))
}

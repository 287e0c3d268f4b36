package logs

import (
	"fmt"
	"io"
	"os"
	"sync/atomic"

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
	return zap.New(newCore(zapcore.Lock(escaping{zapcore.AddSync(to)}), l)), nil
}

func newCore(to zapcore.WriteSyncer, level zapcore.Level) *core {
	c := zap.NewProductionEncoderConfig()
	c.EncodeTime = zapcore.RFC3339NanoTimeEncoder
	c.EncodeDuration = zapcore.SecondsDurationEncoder
	encoder := zapcore.NewJSONEncoder(c)
	return &core{
		Core: zapcore.NewCore(encoder, to, level),
		all:  zapcore.NewCore(encoder.Clone(), to, zapcore.InfoLevel),
	}
}

// Audit returns the logger of audit lines that go where those of log do,
// whatever its level is.
func Audit(log *zap.Logger) *zap.Logger {
	return log.Named(AuditName).WithOptions(zap.WrapCore(func(c zapcore.Core) zapcore.Core {
		if own, ok := c.(*core); ok {
			return &core{Core: own.all, all: own.all}
		}
		return c
	}))
}

// File is a file of audit lines. What rotates it may move it away before a
// restart, or copy and truncate it at any time.
type File struct {
	file     *os.File
	failures atomic.Uint64
}

// OpenFile opens a file for lines to be added, for its owner's eyes only if it
// has to be made.
func OpenFile(path string) (*File, error) {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("the audit log: %w", err)
	}
	return &File{file: file}, nil
}

// Logger returns the logger of audit lines that go to the file.
func (f *File) Logger() *zap.Logger {
	return zap.New(newCore(zapcore.Lock(escaping{f}), zapcore.InfoLevel)).Named(AuditName)
}

// Write implements [io.Writer].
func (f *File) Write(line []byte) (int, error) {
	n, err := f.file.Write(line)
	if err != nil {
		f.failures.Add(1)
	}
	return n, err
}

// Sync implements [zapcore.WriteSyncer].
func (f *File) Sync() error { return f.file.Sync() }

// Failures counts the lines that could not be written.
func (f *File) Failures() uint64 { return f.failures.Load() }

// Close brings what was written to the disk and closes the file.
func (f *File) Close() error {
	err := f.file.Sync()
	if failure := f.file.Close(); err == nil {
		err = failure
	}
	return err
}

package logs

import (
	"fmt"
	"io"
	"os"
	"sync"
	"sync/atomic"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
)

// File is a file of audit lines. A tool that rotates it may move it away and
// then make the gateway reopen it, or copy and truncate it.
type File struct {
	path     string
	log      *zap.Logger
	failures atomic.Uint64

	mu      sync.Mutex // guards all below, so that no line goes to a closed file
	file    file
	torn    bool   // it ends in a part of a line
	failing bool   // it failed to take the latest line
	since   uint64 // number of failures before those
}

// file is an *os.File.
type file interface {
	io.WriteCloser
	Sync() error
}

// OpenFile opens a file to append lines. If it has to create the file, only
// its owner can read it. log reports when the file stops taking lines, and
// when it takes them again.
func OpenFile(path string, log *zap.Logger) (*File, error) {
	opened, torn, err := openFile(path)
	if err != nil {
		return nil, err
	}
	return &File{path: path, log: log, file: opened, torn: torn}, nil
}

func openFile(path string) (opened file, torn bool, err error) {
	opened, err = os.OpenFile(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return nil, false, fmt.Errorf("the audit log: %w", err)
	}
	return opened, endsInPart(path), nil
}

// endsInPart reports whether a file ends in a part of a line, because its disk was full
// or its writer was killed. A file that cannot be read counts as complete.
func endsInPart(path string) bool {
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() || info.Size() == 0 {
		return false
	}
	read, err := os.Open(path)
	if err != nil {
		return false
	}
	defer read.Close()
	var last [1]byte
	if _, err := read.ReadAt(last[:], info.Size()-1); err != nil {
		return false
	}
	return last[0] != '\n'
}

// Reopen opens the path again for further lines, and closes the former file.
// If the path cannot be opened, lines still go to the former file. The error
// may come from closing the former file.
func (f *File) Reopen() error {
	next, torn, err := openFile(f.path)
	if err != nil {
		return err
	}
	f.mu.Lock()
	before := f.file
	f.file, f.torn = next, torn
	f.mu.Unlock()
	return syncAndClose(before)
}

// Logger returns a logger of audit lines to the file. The File's log reports
// failed writes; zap would report each to stderr, in its own form.
func (f *File) Logger() *zap.Logger {
	return zap.New(newCore(zapcore.Lock(f), zapcore.InfoLevel, false), zap.ErrorOutput(zapcore.AddSync(io.Discard))).Named(AuditName)
}

// Write adds a line. It implements [io.Writer].
func (f *File) Write(line []byte) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	text := line
	if f.torn { // the part becomes its own line
		text = append([]byte{'\n'}, line...)
	}
	n, err := f.file.Write(text)
	if n > 0 {
		f.torn = text[n-1] != '\n'
	}
	f.reportFailure(err)
	if err != nil {
		return min(n, len(line)), err
	}
	return len(line), nil
}

// reportFailure counts a line that was not written, and logs when such
// failures begin and end.
func (f *File) reportFailure(err error) {
	switch {
	case err != nil:
		if before := f.failures.Add(1) - 1; !f.failing {
			f.failing, f.since = true, before
			f.log.Error("audit lines cannot be written", zap.Error(err))
		}
	case f.failing:
		f.failing = false
		f.log.Warn("audit lines are written again", zap.Uint64("lost", f.failures.Load()-f.since))
	}
}

// Sync implements [zapcore.WriteSyncer].
func (f *File) Sync() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.file.Sync()
}

// Failures returns the number of lines that could not be written.
func (f *File) Failures() uint64 { return f.failures.Load() }

// Close syncs the file to the disk and closes it.
func (f *File) Close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return syncAndClose(f.file)
}

func syncAndClose(f file) error {
	err := f.Sync()
	if failure := f.Close(); err == nil {
		err = failure
	}
	return err
}

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

// File is a file of audit lines. What rotates it may move it away and then have
// it opened anew, or copy and truncate it.
type File struct {
	path     string
	log      *zap.Logger
	failures atomic.Uint64

	mu      sync.Mutex // guards all below, so that no line goes to a file that is closed
	file    file
	torn    bool   // it ends in a part of a line
	failing bool   // it did not take the last line
	since   uint64 // failures before those
}

// file is an *os.File.
type file interface {
	io.WriteCloser
	Sync() error
}

// OpenFile opens a file for lines to be added, for its owner's eyes only if it
// has to be made. log is told when the file takes no more lines, and when it does
// again.
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

// endsInPart reports whether a file ends in a part of a line: its disk was full,
// or who wrote it was killed. What cannot be read is taken to be whole.
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

// Reopen opens the path anew, for the lines to come, and ends the file that was
// open; where it cannot be opened, lines go on to the one before. An error can
// be that one's as well.
func (f *File) Reopen() error {
	next, torn, err := openFile(f.path)
	if err != nil {
		return err
	}
	f.mu.Lock()
	before := f.file
	f.file, f.torn = next, torn
	f.mu.Unlock()
	return finish(before)
}

// Logger returns the logger of audit lines that go to the file. Of lines that it
// does not take the log tells; zap would write of each to stderr, in a form of its
// own.
func (f *File) Logger() *zap.Logger {
	return zap.New(newCore(zapcore.Lock(f), zapcore.InfoLevel), zap.ErrorOutput(zapcore.AddSync(io.Discard))).Named(AuditName)
}

// Write adds a line. It implements [io.Writer].
func (f *File) Write(line []byte) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	text := line
	if f.torn { // that part is a line of its own
		text = append([]byte{'\n'}, line...)
	}
	n, err := f.file.Write(text)
	if n > 0 {
		f.torn = text[n-1] != '\n'
	}
	f.tell(err)
	if err != nil {
		return min(n, len(line)), err
	}
	return len(line), nil
}

// tell counts a line that was not written, and says in the log when that begins
// and ends.
func (f *File) tell(err error) {
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

// Failures counts the lines that could not be written.
func (f *File) Failures() uint64 { return f.failures.Load() }

// Close brings what was written to the disk and closes the file.
func (f *File) Close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return finish(f.file)
}

func finish(f file) error {
	err := f.Sync()
	if failure := f.Close(); err == nil {
		err = failure
	}
	return err
}

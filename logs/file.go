package logs

import (
	"fmt"
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
	failures atomic.Uint64

	mu   sync.Mutex // guards file, so that no line goes to one that is closed
	file *os.File
}

// OpenFile opens a file for lines to be added, for its owner's eyes only if it
// has to be made.
func OpenFile(path string) (*File, error) {
	file, err := openFile(path)
	if err != nil {
		return nil, err
	}
	return &File{path: path, file: file}, nil
}

func openFile(path string) (*os.File, error) {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("the audit log: %w", err)
	}
	return file, nil
}

// Reopen opens the path anew, for the lines to come, and ends the file that was
// open; where it cannot be opened, lines go on to the one before. An error can
// be that one's as well.
func (f *File) Reopen() error {
	next, err := openFile(f.path)
	if err != nil {
		return err
	}
	f.mu.Lock()
	before := f.file
	f.file = next
	f.mu.Unlock()
	return finish(before)
}

// Logger returns the logger of audit lines that go to the file.
func (f *File) Logger() *zap.Logger {
	return zap.New(newCore(zapcore.Lock(escaping{f}), zapcore.InfoLevel)).Named(AuditName)
}

// Write implements [io.Writer].
func (f *File) Write(line []byte) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	n, err := f.file.Write(line)
	if err != nil {
		f.failures.Add(1)
	}
	return n, err
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

func finish(file *os.File) error {
	err := file.Sync()
	if failure := file.Close(); err == nil {
		err = failure
	}
	return err
}

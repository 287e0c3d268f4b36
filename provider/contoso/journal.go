package contoso

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

const journalFormat = "contoso-journal-1"

// journalFloor is the size below which a journal is not rewritten.
const journalFloor = 8 << 20

// journal is the state on disk: one JSON line for each change, replayed at
// the start. It is rewritten as a snapshot at each start and whenever it has
// grown to four times the last snapshot.
type journal struct {
	path      string
	region    string
	file      *os.File
	lock      *os.File
	size      int64
	rewriteAt int64
	broken    error
}

type journalHeader struct {
	Format string `json:"format"`
	Region string `json:"region"`
}

// openJournal reads the state at path, which may not exist yet.
func openJournal(path, region string) (*journal, *state, error) {
	lock, err := lockFile(path + ".lock")
	if err != nil {
		return nil, nil, fmt.Errorf("state file %s: %w", path, err)
	}
	j := &journal{path: path, region: region, lock: lock}
	s, err := j.replay()
	if err == nil {
		err = j.rewrite(s)
	}
	if err != nil {
		return nil, nil, errors.Join(fmt.Errorf("state file %s: %w", path, err), j.close())
	}
	return j, s, nil
}

func (j *journal) replay() (*state, error) {
	s := newState()
	f, err := os.Open(j.path)
	if errors.Is(err, os.ErrNotExist) {
		return s, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	r := bufio.NewReader(f)
	for n := 1; ; n++ {
		line, err := r.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			break // a line without its end was never acknowledged
		}
		if err != nil {
			return nil, err
		}
		if err := j.replayLine(s, n, line); err != nil {
			if _, more := r.Peek(1); more != nil && n > 1 {
				break // the same holds for a last line that a crash left garbled
			}
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
	}
	s.order()
	return s, nil
}

func (j *journal) replayLine(s *state, n int, line []byte) error {
	if n == 1 {
		var h journalHeader
		if err := json.Unmarshal(line, &h); err != nil {
			return err
		}
		if h.Format != journalFormat || h.Region != j.region {
			return fmt.Errorf("it is no %s of region %q", journalFormat, j.region)
		}
		return nil
	}
	var c change
	if err := json.Unmarshal(line, &c); err != nil {
		return err
	}
	s.applyUnordered(&c)
	return nil
}

// append makes the change durable. After an error, either nothing of the
// change is on disk or the journal refuses all later changes.
func (j *journal) append(c *change) error {
	if j.broken != nil {
		return j.broken
	}
	line := append(encode(c), '\n')
	_, err := j.file.Write(line)
	if err == nil {
		err = j.file.Sync()
		if err != nil { // the content of the file is unknown now
			j.broken = fmt.Errorf("state file: %w", err)
			return j.broken
		}
		j.size += int64(len(line))
		return nil
	}
	if undo := j.file.Truncate(j.size); undo != nil {
		j.broken = fmt.Errorf("state file: %w", errors.Join(err, undo))
	}
	return err
}

// rewrite replaces the journal by a snapshot of s, atomically: a crash leaves
// either the old one or the new.
func (j *journal) rewrite(s *state) error {
	temp := j.path + ".new"
	f, err := os.OpenFile(temp, os.O_CREATE|os.O_TRUNC|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	size, err := writeSnapshot(f, j.region, s)
	if err == nil {
		err = f.Sync()
	}
	if err == nil {
		err = os.Rename(temp, j.path)
	}
	if err != nil {
		return errors.Join(err, f.Close())
	}
	if j.file != nil {
		_ = j.file.Close() // its name now belongs to f
	}
	j.file, j.size, j.rewriteAt = f, size, max(journalFloor, 4*size)
	if err := syncFolder(filepath.Dir(j.path)); err != nil {
		j.broken = err
		return err
	}
	return nil
}

func writeSnapshot(f io.Writer, region string, s *state) (int64, error) {
	var size int64
	w := bufio.NewWriter(f)
	line := func(v any) {
		n, _ := w.Write(append(encode(v), '\n')) // Flush returns the writer's error
		size += int64(n)
	}
	line(journalHeader{journalFormat, region})
	for k, v := range s.subscriptions {
		line(change{Subscriptions: map[string]*subscription{k: v}})
	}
	for _, k := range s.keys {
		line(change{Resources: map[string]*resource{k: s.resources[k]}})
	}
	for k, v := range s.operations {
		line(change{Operations: map[string]*operation{k: v}})
	}
	return size, w.Flush()
}

func syncFolder(path string) error {
	d, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

func (j *journal) close() error {
	var errs []error
	if j.file != nil {
		errs = append(errs, j.file.Close())
	}
	return errors.Join(append(errs, j.lock.Close())...)
}

package peers

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// tick is the unit of times in /proc, whatever the kernel's own tick is.
const tick = 10 * time.Millisecond

// CPU returns the processor time that a process and its descendants have used so far,
// ended ones that their parents have waited for included.
func CPU(pid int) (time.Duration, error) {
	used, err := processClock(pid)
	if err != nil {
		return 0, fmt.Errorf("the processor time of process %d: %w", pid, err)
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, err
	}
	waitedFor, err := childrenTime(stat)
	if err != nil {
		return 0, err
	}
	used += waitedFor
	err = eachChild(pid, func(child int) error {
		more, err := CPU(child)
		used += more
		return err
	})
	return used, err
}

// Memory returns the resident memory of a process and its descendants in bytes: now, and
// the peak since the start or [ForgetPeak]. Shared pages count for each process.
func Memory(pid int) (now, peak int64, err error) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, 0, err
	}
	if now, err = statusBytes(status, "VmRSS"); err != nil {
		return 0, 0, err
	}
	if peak, err = statusBytes(status, "VmHWM"); err != nil {
		return 0, 0, err
	}
	err = eachChild(pid, func(child int) error {
		childNow, childPeak, err := Memory(child)
		now, peak = now+childNow, peak+childPeak
		return err
	})
	return now, peak, err
}

// ForgetPeak resets the peak of a process and its descendants.
func ForgetPeak(pid int) error {
	if err := os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", pid), []byte("5"), 0o600); err != nil {
		return err
	}
	return eachChild(pid, ForgetPeak)
}

// eachChild calls do for the children of all threads of a process. It ignores a child
// that ends meanwhile: its parent's waited-for time then includes it.
func eachChild(pid int, do func(child int) error) error {
	lists, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	if err != nil {
		return err
	}
	for _, list := range lists {
		text, err := os.ReadFile(list)
		if err != nil && !ended(err) {
			return err
		}
		for field := range strings.FieldsSeq(string(text)) {
			child, err := strconv.Atoi(field)
			if err != nil {
				return err
			}
			if err := do(child); err != nil && !ended(err) {
				return err
			}
		}
	}
	return nil
}

// ended reports whether an error means that the process no longer exists.
func ended(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ESRCH) || errors.Is(err, syscall.EINVAL)
}

// childrenTime reads the processor time of waited-for children from a /proc/PID/stat.
func childrenTime(stat []byte) (time.Duration, error) {
	// The name, in parentheses, may hold anything. The children's user and system time
	// are the 14th and 15th field behind it.
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	if len(fields) < 15 {
		return 0, fmt.Errorf("a stat of %d fields: %q", len(fields), stat)
	}
	var ticks int64
	for _, field := range fields[13:15] {
		n, err := strconv.ParseInt(field, 10, 64)
		if err != nil {
			return 0, err
		}
		ticks += n
	}
	return time.Duration(ticks) * tick, nil
}

// statusBytes reads a size from a /proc/PID/status.
func statusBytes(status []byte, name string) (int64, error) {
	for line := range strings.Lines(string(status)) {
		fields := strings.Fields(line)
		if len(fields) == 3 && fields[0] == name+":" && fields[2] == "kB" {
			kib, err := strconv.ParseInt(fields[1], 10, 64)
			return kib << 10, err
		}
	}
	return 0, fmt.Errorf("no %s in a status of %d bytes", name, len(status))
}

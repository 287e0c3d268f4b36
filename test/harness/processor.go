package harness

import (
	"syscall"
	"time"
)

// ProcessorTime is what this process has used of the processors; 0 where that is unknown.
func ProcessorTime() time.Duration {
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		return 0
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

package peers

import (
	"syscall"
	"time"
	"unsafe"
)

// processClock reads a process's CPU clock: the time of all its threads, ended ones
// included, in nanoseconds. /proc/PID/stat truncates it to ticks.
func processClock(pid int) (time.Duration, error) {
	const schedulerTime = 2 // CPUCLOCK_SCHED
	clock := uintptr(^pid<<3 | schedulerTime)
	var now syscall.Timespec
	if _, _, errno := syscall.Syscall(syscall.SYS_CLOCK_GETTIME, clock, uintptr(unsafe.Pointer(&now)), 0); errno != 0 {
		return 0, errno
	}
	return time.Duration(now.Nano()), nil
}

package peers

import (
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"testing"
	"time"

	"portico/test/harness"
)

func TestChildrenTimeOfAProcessWithAnOddName(t *testing.T) {
	const stat = "4242 (a ) b (c) S 1 4242 4242 0 -1 4194560 2345 67 0 0 11 22 33 44 20 0 9 0 12345 1718546432 8400\n"
	if got, err := childrenTime([]byte(stat)); err != nil || got != 770*time.Millisecond {
		t.Errorf("%v, %v, want 770ms", got, err)
	}
	for _, broken := range []string{"", "4242 (a) S 1 2 3", "4242 (a) S 1 4242 4242 0 -1 4194560 2345 67 0 0 11 22 x 44 20"} {
		if got, err := childrenTime([]byte(broken)); err == nil {
			t.Errorf("%q: %v", broken, got)
		}
	}
}

func TestStatusBytes(t *testing.T) {
	const status = "Name:\tVmRSS: 1 kB\nVmHWM:\t   23456 kB\nVmRSS:\t   12345 kB\nRssAnon:\t 7 kB\n"
	if got, err := statusBytes([]byte(status), "VmRSS"); err != nil || got != 12345<<10 {
		t.Errorf("%d, %v", got, err)
	}
	if got, err := statusBytes([]byte(status), "VmHWM"); err != nil || got != 23456<<10 {
		t.Errorf("%d, %v", got, err)
	}
	if got, err := statusBytes([]byte(status), "VmSwap"); err == nil {
		t.Errorf("%d of what is not there", got)
	}
}

// CPU lies between what getrusage returns before and after it.
func TestCPUIsWhatTheProcessAndItsChildrenHaveUsed(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("processor time is read as Linux shows it")
	}
	burn := exec.Command("sh", "-c", "i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done")
	harness.OK(t, burn.Run())
	least := rusage(t, syscall.RUSAGE_SELF) + rusage(t, syscall.RUSAGE_CHILDREN)
	got, err := CPU(os.Getpid())
	most := rusage(t, syscall.RUSAGE_SELF) + rusage(t, syscall.RUSAGE_CHILDREN)
	// /proc truncates the children's user and system times to ticks.
	if err != nil || got < least-2*tick || got > most+2*tick {
		t.Errorf("%v, %v, want %v to %v", got, err, least, most)
	}
}

func TestCPUAndMemoryCountRunningChildren(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("read as Linux shows it")
	}
	before, _, err := Memory(os.Getpid())
	harness.OK(t, err)
	child := exec.Command("sleep", "60")
	harness.OK(t, child.Start())
	defer func() { _ = child.Wait() }()
	defer func() { _ = child.Process.Kill() }()
	counted := 0
	if err := eachChild(os.Getpid(), func(pid int) error {
		if pid == child.Process.Pid {
			counted++
		}
		return nil
	}); err != nil || counted != 1 {
		t.Errorf("the child counts %d times, %v", counted, err)
	}
	now, peak, err := Memory(os.Getpid())
	if err != nil || now <= 0 || peak < now/2 || before <= 0 {
		t.Errorf("%d, then %d, peak %d, %v", before, now, peak, err)
	}
	if err := ForgetPeak(child.Process.Pid); err != nil {
		t.Error(err)
	}
}

func rusage(t *testing.T, who int) time.Duration {
	t.Helper()
	var used syscall.Rusage
	harness.OK(t, syscall.Getrusage(who, &used))
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

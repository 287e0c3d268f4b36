package peers

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"

	"portico/test/harness"
)

// roles maps the first argument of a test binary to what it runs in place of tests. Roles
// print their addresses and serve until they are killed.
var roles = map[string]func(ctx context.Context, args []string) error{
	mergerRole:       mergePlainly,
	providerRole:     provide,
	reverseProxyRole: proxyReversely,
}

// Role runs the role that args name. It reports false if they name none.
func Role(args []string) bool {
	if len(args) == 0 || roles[args[0]] == nil {
		return false
	}
	if err := roles[args[0]](context.Background(), args[1:]); err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", args[0], err)
		os.Exit(1)
	}
	return true
}

// startRole runs this binary in a role and returns the first line that it prints.
func startRole(t testing.TB, role string, args ...string) (first string, pid int) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	p := harness.Start(t, role, t.TempDir(), self, append([]string{role}, args...)...)
	return strings.TrimPrefix(p.WaitLine(t, role+": "), role+": "), p.Pid()
}

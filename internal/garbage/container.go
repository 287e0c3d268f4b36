package garbage

import (
	"math"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
)

// containerMemory is the least of the bounds that the control groups of this process
// set on its memory, math.MaxInt64 without any. root is that of the file system.
func containerMemory(root string) int64 {
	groups, err := os.ReadFile(filepath.Join(root, "proc", "self", "cgroup"))
	if err != nil {
		return math.MaxInt64 // not Linux
	}
	least := int64(math.MaxInt64)
	for line := range strings.Lines(string(groups)) {
		// number:controllers:path; the second version has 0 and no controllers.
		number, rest, _ := strings.Cut(strings.TrimSpace(line), ":")
		controllers, group, _ := strings.Cut(rest, ":")
		switch {
		case number == "0" && controllers == "":
			least = min(least, leastBound(filepath.Join(root, "sys", "fs", "cgroup"), group, "memory.max"))
		case controllers == "memory":
			least = min(least, leastBound(filepath.Join(root, "sys", "fs", "cgroup", "memory"), group, "memory.limit_in_bytes"))
		}
	}
	return least
}

// leastBound reads the bounds of a group and of those above it. In a container the path
// may be that outside of it, which is not to be seen: its own group is the root then.
func leastBound(tree, group, file string) int64 {
	least := int64(math.MaxInt64)
	for at := path.Clean("/" + group); ; at = path.Dir(at) {
		text, err := os.ReadFile(filepath.Join(tree, filepath.FromSlash(at), file))
		if err == nil {
			// "max", or a number; the first version says with one near 2^63 that
			// there is no bound.
			if bound, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64); err == nil && bound > 0 && bound < 1<<62 {
				least = min(least, bound)
			}
		}
		if at == "/" {
			return least
		}
	}
}

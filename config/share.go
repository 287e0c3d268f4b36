package config

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// part is a share of a whole that cannot be none, read as above 0 and up to 1.
func part() rule[float64] {
	return rule[float64]{
		parse: func(text string) (float64, bool) {
			digits, found := strings.CutSuffix(text, "%")
			n, err := strconv.ParseUint(digits, 10, 8)
			return float64(n) / 100, found && err == nil && n > 0 && n <= 100
		},
		noun:    "percentage above 0%",
		allowed: "1% to 100%, in whole numbers",
		shape:   matching(`^[0-9]+%$`).matching(notZero),
	}
}

// budget is a setting of bytes by its path.
type budget struct {
	path  string
	bytes int64
}

// checkShare reports where one thing, as large as it may be, does not fit the share
// of a budget that one caller has: at the first of these keys of o that is there, else
// at the share.
func checkShare(root, o object, l Limits, all, one budget, keys ...string) {
	share := l.ShareOf(all.bytes)
	if share >= one.bytes {
		return
	}
	at := o.at(keys...)
	if at == o.n {
		at = shareNode(root)
	}
	least := int64(math.Ceil(float64(one.bytes) / l.CallerShare))
	o.r.fault(at, fmt.Sprintf("one caller's share of %s, %.0f%% by limits.callerShare, is %s, less than %s, which is %s: not even one would fit",
		all.path, 100*l.CallerShare, writtenSize(share), one.path, writtenSize(one.bytes)), fmt.Sprintf("%s of at least %s, or a larger limits.callerShare", all.path, writtenSize(least)))
}

// shareNode is where limits.callerShare stands, else where it would.
func shareNode(root object) *node {
	if limits := root.get("limits"); limits != nil {
		if e := limits.lookup("callerShare"); e != nil {
			return e.value
		}
		return limits
	}
	return root.n
}

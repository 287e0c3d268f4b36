package jobrow

import (
	"context"
	"strings"

	"portico/inventory/engine"
)

// firstDue is a column of a question about several kinds at once: each is one step in
// the index, however many jobs there are.
const firstDue = `(SELECT MIN(due) FROM jobs WHERE shard = ? AND kind = ?)`

// DueKinds returns those of the kinds that have a job which is due and not held. It
// costs one round trip, and claims nothing.
func (r *Rows) DueKinds(ctx context.Context, kinds []string) (due []string, err error) {
	if len(kinds) == 0 {
		return nil, nil
	}
	columns, args := make([]string, len(kinds)), make([]any, 0, 2*len(kinds))
	first, into := make([]*int64, len(kinds)), make([]any, len(kinds))
	for i, kind := range kinds {
		columns[i], args, into[i] = firstDue, append(args, openShard, kind), &first[i]
	}
	now := engine.Micros(r.engine.Now())
	if err := r.engine.Read(ctx).One("SELECT "+strings.Join(columns, ", "), args...)(into...); err != nil {
		return nil, err
	}
	for i, kind := range kinds {
		if first[i] != nil && *first[i] <= now {
			due = append(due, kind)
		}
	}
	return due, nil
}

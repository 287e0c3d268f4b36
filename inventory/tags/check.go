package tags

import (
	"cmp"
	"context"
	"encoding/json"

	"portico/inventory/engine"
	"portico/inventory/transaction"
)

const (
	// The details are asked for one by one: an engine that joins may read all resources.
	checkedTags = `SELECT subscription, tag, resource, value,
			COALESCE((SELECT details FROM resources WHERE resources.subscription = resource_tags.subscription AND key = resource), '')
		FROM resource_tags WHERE (subscription, tag, resource) > (?, ?, ?) ORDER BY subscription, tag, resource LIMIT ` + mostChecked
	mendTag = `UPDATE resource_tags SET value = ? WHERE subscription = ? AND tag = ? AND resource = ? AND value = ?`

	mostChecked = `1000`
	tagsChecked = 1000
)

// Check is how far a comparison of the index of tags' values with the resources has
// come. The zero value begins one.
type Check struct {
	after  tagRow
	Mended int // values that were wrong, or not known yet
}

// tagRow is a row of the index of tags, with what the resource says.
type tagRow struct {
	subscription, name, resource string
	value, wanted                int64
}

func (r tagRow) compare(other tagRow) int {
	return cmp.Or(cmp.Compare(r.subscription, other.subscription), cmp.Compare(r.name, other.name), cmp.Compare(r.resource, other.resource))
}

// Continue continues a comparison by a bounded number of tags, and reports whether it is
// complete. It writes the values that an earlier version left out, or changed without
// saying so here.
func (d *Tags) Continue(ctx context.Context, c *Check) (done bool, err error) {
	after, n := c.after, 0
	var wrong []tagRow
	err = d.database.Read(ctx).Each(func(scan engine.Scanner) error {
		row, err := scanTagRow(scan)
		if err != nil {
			return err
		}
		if n++; row.compare(after) > 0 {
			after = row
		}
		if row.value != row.wanted {
			wrong = append(wrong, row)
		}
		return nil
	}, checkedTags, c.after.subscription, c.after.name, c.after.resource)
	if err != nil {
		return false, err
	}
	// Each only if nobody has changed it meanwhile.
	mended, err := transaction.InPieces(ctx, d.database, wrong, func(t *transaction.Tx, piece []tagRow) (int, error) {
		for _, row := range piece {
			if err := t.Later(mendTag, row.wanted, row.subscription, row.name, row.resource, row.value); err != nil {
				return 0, err
			}
		}
		return len(piece), nil
	})
	c.Mended += mended
	if err != nil {
		return false, err
	}
	c.after = after
	return n < tagsChecked, nil
}

func scanTagRow(scan engine.Scanner) (row tagRow, err error) {
	var text string
	if err := scan(&row.subscription, &row.name, &row.resource, &row.value, &text); err != nil {
		return row, err
	}
	var details tagged
	if text != "" {
		if err := json.Unmarshal([]byte(text), &details); err != nil {
			row.wanted = row.value // it stays as it is; who reads the resource says so
			return row, nil        //nolint:nilerr // one that cannot be read holds up no other
		}
	}
	wanted, has := digests(details.Tags)[row.name]
	if !has {
		wanted = Digest("") // any will do, as the resource is left out anyway
	}
	row.wanted = wanted
	return row, nil
}

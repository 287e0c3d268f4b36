package inventory

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"unicode/utf8"

	"portico/arm"
	"portico/inventory/engine"
	"portico/inventory/index"
	"portico/inventory/tagindex"
)

// ResourceQuery selects rows of a subscription in the order of their keys; empty
// members match everything.
type ResourceQuery struct {
	Subscription string
	Group        string
	Type         string // full type
	Name         string // "parent/child" for a nested resource
	NamePrefix   string
	Location     string
	Tag          string // the name of a tag
	TagValue     string // of that tag, if OfTagValue is set
	OfTagValue   bool
	After        string // list the rows after this key
	Before       string // list the rows before this key; "" for all
	Limit        int    // 0: all
	Visible      bool   // only what clients see: Live and Deleting
}

// mostSelected bounds one selection by a tag or a prefix. It is a literal in the statement
// because an engine that does not know how few rows there will be may scan all resources
// instead.
const mostSelected = `1001`

const (
	listResources = `SELECT ` + resourceColumns + ` FROM resources WHERE subscription = ? AND key > ?`
	listBetween   = listResources + ` AND key < ? ORDER BY key LIMIT ?`
	// CROSS JOIN and LIMIT make the engine read the keys first and then a row for each: it
	// cannot reorder the join, or read more keys than the limit.
	listTagged = `SELECT ` + resourceColumns + ` FROM (SELECT subscription AS tagged_in, resource FROM resource_tags
			WHERE subscription = ? AND resource > ? AND tag = ? ORDER BY resource LIMIT ` + mostSelected + selectTagged
	// The order and the range fit one index only: otherwise an engine with statistics of
	// common values scans all resources with the tag.
	listTagValue = `SELECT ` + resourceColumns + ` FROM (SELECT subscription AS tagged_in, value, resource FROM resource_tags` +
		ofTagValue + ` LIMIT ` + mostSelected + selectTagged
	selectTagged = `) AS tagged
		CROSS JOIN resources WHERE subscription = tagged_in AND key = resource`
	ofTagValue = ` WHERE subscription = ? AND tag = ? AND (value, resource) > (?, ?) AND value <= ? ORDER BY value, resource`
	listNamed  = `SELECT ` + resourceColumns + ` FROM (SELECT named_in, named FROM (SELECT subscription AS named_in, key AS named FROM resources
				WHERE subscription = ? AND name_key >= ? AND name_key < ? ORDER BY name_key, key LIMIT ` + mostNamed + `) AS of_name
			WHERE named > ? ORDER BY named LIMIT ` + mostSelected + `) AS following
		CROSS JOIN resources WHERE subscription = named_in AND key = named`

	countSelected = `SELECT COUNT(*), COALESCE(MAX(key), '') FROM (SELECT key FROM resources WHERE subscription = ? AND key > ?`
	countBetween  = countSelected + ` AND key < ? ORDER BY key LIMIT ?) AS counted`
	countTagged   = `SELECT COUNT(*), COALESCE(MAX(resource), '') FROM (SELECT resource FROM resource_tags WHERE subscription = ? AND resource > ? AND tag = ?
		ORDER BY resource LIMIT ?) AS counted`
	countTagValue = `SELECT COUNT(*), COALESCE(MAX(resource), '') FROM (SELECT resource FROM resource_tags` + ofTagValue + ` LIMIT ?) AS counted`
	anyUnvalued   = `SELECT COUNT(*) FROM (SELECT resource FROM resource_tags` + ofTagValue + ` LIMIT 1) AS unvalued`
	sampleNames   = `SELECT COUNT(*) FROM (SELECT name_key FROM resources WHERE subscription = ? AND key > ?`
	ofPrefix      = `) AS sampled WHERE name_key >= ? AND name_key < ?`
	countNamed    = `SELECT COUNT(*), '' FROM (SELECT key FROM resources WHERE subscription = ? AND name_key >= ? AND name_key < ?
		ORDER BY name_key, key LIMIT ?) AS counted`
)

// countedSelections has the limits for counting the rows of each condition, to find the
// condition with the fewest.
var countedSelections = [...]int{256, 4096}

// Names with a prefix are not in the order of keys, so all of them are read for each page.
// If there are many, they are used only if they are far apart in the order of keys, and no
// more than mostApart; mostNamed leaves room for names that are created meanwhile.
const (
	mostNamed = `65536`
	mostApart = 32768
	// Names are far apart if fewer than fewApart of the next sampled rows have one.
	sampled, fewApart = 256, 16
)

// Resources lists rows.
func (s *Store) Resources(ctx context.Context, q ResourceQuery) ([]Resource, error) {
	var all []Resource
	for {
		rows, more, err := s.Candidates(ctx, q)
		if err != nil {
			return nil, err
		}
		for _, row := range rows {
			q.After = row.Key
			if !q.Match(&row) {
				continue
			}
			if all = append(all, row); len(all) == q.Limit {
				return all, nil
			}
		}
		if !more {
			return all, nil
		}
	}
}

// Candidates lists the rows that meet one condition of the query, the one that the fewest
// rows meet, and reports whether there may be more. They include all matches; the caller
// selects them by [ResourceQuery.Match]. Candidates returns fewer rows than the query's
// limit, or than 1001, only at the end.
func (s *Store) Candidates(ctx context.Context, q ResourceQuery) (rows []Resource, more bool, err error) {
	from := s.engine.Read(ctx)
	lead, err := q.bestSelection(from)
	if err != nil {
		return nil, false, err
	}
	rows, err = engine.Collect(from, scanResource, lead.list, append(lead.args, lead.atMost(q.Limit))...)
	more = lead.atMost(q.Limit) == int64(len(rows))
	if before := arm.Fold(q.Before); before != "" {
		wanted, _ := slices.BinarySearchFunc(rows, before, func(r Resource, key string) int { return cmp.Compare(r.Key, key) })
		rows, more = rows[:wanted], more && wanted == len(rows)
	}
	return rows, more, err
}

// Match reports whether a row meets all conditions except for After, Before and Limit.
func (q ResourceQuery) Match(r *Resource) bool {
	name := arm.Fold(r.Name)
	return (q.Group == "" || r.Group == arm.Fold(q.Group)) &&
		(q.Type == "" || r.Type == arm.Fold(q.Type)) &&
		(q.Name == "" || name == arm.Fold(q.Name)) &&
		strings.HasPrefix(name, arm.Fold(q.NamePrefix)) &&
		(q.Location == "" || r.Location == arm.Location(q.Location)) &&
		(q.Tag == "" || q.hasTag(r.Details.Tags)) &&
		(!q.Visible || r.Phase != index.Pending)
}

func (q ResourceQuery) hasTag(tags map[string]string) bool {
	tag := arm.Fold(q.Tag)
	for name, value := range tags {
		if arm.Fold(name) == tag && (!q.OfTagValue || value == q.TagValue) {
			return true
		}
	}
	return false
}

// selection is a condition of a query that has an index.
type selection struct {
	list, count string // statements; a limit follows their arguments
	// sample counts names with a prefix among the first rows; a limit and the names' range
	// follow its arguments. It is empty if the index is not in the order of resources.
	sample    string
	args      []any
	most      int64 // bound of the rows that list returns; 0 for none
	unordered bool  // the index is not in the order of keys
}

func (c selection) atMost(limit int) int64 {
	if n := engine.LimitArg(limit); c.most == 0 || n < c.most {
		return n
	}
	return c.most
}

// selections returns the conditions of a query that have an index, first the ones that
// usually select fewer rows. The last one selects all rows. valued reports whether the
// index has all values of the tag.
func (q ResourceQuery) selections(valued bool) []selection {
	const ofPage = 1001 // mostSelected
	sub, after := arm.Fold(q.Subscription), arm.Fold(q.After)
	var all []selection
	column := func(name, value string) {
		if value != "" {
			all = append(all, selection{
				list:   listResources + ` AND ` + name + ` = ? ORDER BY key LIMIT ?`,
				count:  countSelected + ` AND ` + name + ` = ? ORDER BY key LIMIT ?) AS counted`,
				sample: sampleNames + ` AND ` + name + ` = ? ORDER BY key LIMIT ?` + ofPrefix,
				args:   []any{sub, after, value},
			})
		}
	}
	column(`name_key`, arm.Fold(q.Name))
	if prefix := arm.Fold(q.NamePrefix); prefix != "" && afterPrefix(prefix) != "" {
		all = append(all, selection{
			list: listNamed + ` ORDER BY named LIMIT ?`, count: countNamed,
			args: []any{sub, prefix, afterPrefix(prefix), after}, most: ofPage, unordered: true,
		})
	}
	column(`resource_group`, arm.Fold(q.Group))
	if tag, value := arm.Fold(q.Tag), tagindex.Digest(q.TagValue); valued {
		all = append(all, selection{
			list: listTagValue + ` ORDER BY value, resource LIMIT ?`, count: countTagValue,
			args: []any{sub, tag, value, after, value}, most: ofPage,
		})
	} else if tag != "" {
		all = append(all, selection{
			list: listTagged + ` ORDER BY resource LIMIT ?`, count: countTagged,
			args: []any{sub, after, tag}, most: ofPage,
		})
	}
	column(`type`, arm.Fold(q.Type))
	column(`location`, arm.Location(q.Location))
	if before := arm.Fold(q.Before); before != "" {
		return append(all, selection{
			list: listBetween, count: countBetween, sample: sampleNames + ` AND key < ? ORDER BY key LIMIT ?` + ofPrefix,
			args: []any{sub, after, before},
		})
	}
	return append(all, selection{
		list: listResources + ` ORDER BY key LIMIT ?`, sample: sampleNames + ` ORDER BY key LIMIT ?` + ofPrefix,
		args: []any{sub, after},
	})
}

// bestSelection returns the condition that the fewest rows meet. If too many rows meet
// each, it returns the one whose next rows reach farthest, or the condition on the names'
// prefix if few of those rows have such a name.
func (q ResourceQuery) bestSelection(from engine.Source) (selection, error) {
	valued, err := q.hasValueIndex(from)
	if err != nil {
		return selection{}, err
	}
	all := q.selections(valued)
	countable := all
	if q.Before == "" {
		countable = all[:len(all)-1]
	}
	if n := len(countable); n == 0 || n == 1 && !all[0].unordered {
		return all[0], nil
	}
	type counted struct {
		selection
		rows int
		last string
	}
	var common []counted
	for _, most := range countedSelections {
		common = common[:0]
		var rare []counted
		for _, c := range countable {
			of := counted{selection: c}
			args := c.args
			if c.unordered {
				args = args[:len(args)-1] // count all rows, from the first one
			}
			if err := from.One(c.count, append(slices.Clone(args), most)...)(&of.rows, &of.last); err != nil {
				return selection{}, err
			}
			if of.rows < most {
				rare = append(rare, of)
			} else if !of.unordered {
				common = append(common, of)
			}
		}
		if len(rare) > 0 {
			return slices.MinFunc(rare, func(a, b counted) int { return cmp.Compare(a.rows, b.rows) }).selection, nil
		}
	}
	farthest := all[len(all)-1]
	if len(common) > 0 {
		farthest = slices.MaxFunc(common, func(a, b counted) int { return cmp.Compare(a.last, b.last) }).selection
	}
	for _, c := range all {
		if apart, err := c.liesApart(from, farthest); apart || err != nil {
			return c, err
		}
	}
	return farthest, nil
}

// liesApart reports whether a condition on the names' prefix reads fewer rows than
// another condition: there are many rows with such names, but they are far apart in the
// order of the other condition.
func (c selection) liesApart(from engine.Source, in selection) (bool, error) {
	if !c.unordered || in.sample == "" {
		return false, nil
	}
	names := c.args[:len(c.args)-1] // a subscription, and a range
	var found, all int
	err := from.One(in.sample, append(append(slices.Clone(in.args), sampled), names[1:]...)...)(&found)
	if err != nil || found >= fewApart {
		return false, err
	}
	var last string
	err = from.One(c.count, append(slices.Clone(names), mostApart)...)(&all, &last)
	return all < mostApart, err
}

// hasValueIndex reports whether a query for a tag's value can use the index of values,
// which must know the value of every resource with the tag.
func (q ResourceQuery) hasValueIndex(from engine.Source) (bool, error) {
	if q.Tag == "" || !q.OfTagValue {
		return false, nil
	}
	var unknown bool
	err := from.One(anyUnvalued, arm.Fold(q.Subscription), arm.Fold(q.Tag), tagindex.UnknownValue, "", tagindex.UnknownValue)(&unknown)
	return !unknown, err
}

// afterPrefix returns the first string after all strings with a prefix, "" if there is
// none.
func afterPrefix(prefix string) string {
	for prefix != "" {
		last, size := utf8.DecodeLastRuneInString(prefix)
		prefix = prefix[:len(prefix)-size]
		switch {
		case last == utf8.MaxRune:
		case last+1 == 0xD800: // skip the surrogates
			return prefix + "\uE000"
		default:
			return prefix + string(last+1)
		}
	}
	return ""
}

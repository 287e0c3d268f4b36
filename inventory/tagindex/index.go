package tagindex

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"math"
	"unicode/utf8"

	"portico/arm"
	"portico/inventory/engine"
	"portico/inventory/transaction"
)

const (
	putTag = `INSERT INTO resource_tags (subscription, tag, resource, value) VALUES (?, ?, ?, ?)
		ON CONFLICT (subscription, tag, resource) DO UPDATE SET value = excluded.value`
	deleteTag = `DELETE FROM resource_tags WHERE subscription = ? AND tag = ? AND resource = ?`
)

// Update updates the index of tags for a resource whose tags change.
func Update(t *transaction.Tx, sub, key string, before, after map[string]string) error {
	old, fresh := digests(before), digests(after)
	for name := range old {
		if _, stays := fresh[name]; stays {
			continue
		}
		if err := t.Later(deleteTag, sub, name, key); err != nil {
			return err
		}
	}
	for name, value := range fresh {
		if had, is := old[name]; is && had == value {
			continue
		}
		if err := t.Later(putTag, sub, name, key, value); err != nil {
			return err
		}
	}
	return nil
}

// UnknownValue is the digest of a value that has to be read from the resource, because the
// resource has the tag in several casings.
const UnknownValue = 0

// digests returns the digests of tags' values, by the folded names of the tags.
func digests(tags map[string]string) map[string]int64 {
	if len(tags) == 0 {
		return nil
	}
	values := make(map[string]int64, len(tags))
	for name, value := range tags {
		name = arm.Fold(name)
		if _, twice := values[name]; twice {
			values[name] = UnknownValue
		} else {
			values[name] = Digest(value)
		}
	}
	return values
}

// Digest returns the digest of a tag's value in the index. Readers also compare the value
// itself, because digests may collide.
func Digest(value string) int64 {
	if !utf8.ValidString(value) {
		value = string([]rune(value)) // as the store replaces invalid text
	}
	sum := sha256.Sum256([]byte(value))
	return max(int64(binary.BigEndian.Uint64(sum[:])&math.MaxInt64), UnknownValue+1)
}

// The details are selected one by one, because a join may read all resources.
const countTagValues = `SELECT value, n,
		COALESCE((SELECT details FROM resources WHERE resources.subscription = counted.subscription AND key = of_first), '')
	FROM (SELECT subscription, value, COUNT(*) AS n, MIN(resource) AS of_first FROM resource_tags
		WHERE subscription = ? AND tag = ? GROUP BY subscription, value) AS counted`

// taggedDetails decodes the tags in the details of a resource.
type taggedDetails struct {
	Tags map[string]string `json:"tags"`
}

// Use counts the resources that have a tag with a certain value.
type Use struct {
	Name, Value string // Name in the casing of one of the resources
	Resources   int
}

// Uses counts the resources of a subscription that have a tag, for each of its values. It
// reads one index entry for each resource, and one resource for each value. known is false,
// and there are no counts, if a resource has the tag in several casings: the caller then has
// to read the resources.
func (d *Tags) Uses(ctx context.Context, sub, name string) (uses []Use, known bool, err error) {
	known, name = true, arm.Fold(name)
	err = d.database.Read(ctx).Each(func(scan engine.Scanner) error {
		var value int64
		var n int
		var text string
		if err := scan(&value, &n, &text); err != nil {
			return err
		}
		use, found := findUse(name, value, text)
		known = known && found
		use.Resources = n
		uses = append(uses, use)
		return nil
	}, countTagValues, arm.Fold(sub), name)
	if err != nil || !known {
		return nil, false, err
	}
	return uses, true, nil
}

// findUse finds the tag whose value has the digest in the details of a resource.
func findUse(name string, digest int64, text string) (use Use, found bool) {
	var details taggedDetails
	if digest == UnknownValue || json.Unmarshal([]byte(text), &details) != nil {
		return Use{}, false
	}
	for spelling, value := range details.Tags {
		if arm.Fold(spelling) == name && Digest(value) == digest {
			return Use{Name: spelling, Value: value}, true
		}
	}
	return Use{}, false
}

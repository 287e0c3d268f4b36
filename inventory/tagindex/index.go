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

// Update keeps the index of tags in step with a row whose tags change.
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

// UnknownValue stands for a value that has to be read from the resource.
const UnknownValue = 0

// digests are the digests of tags' values, by the folded names of the tags.
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

// Digest returns the digest by which a tag's value is found. Readers compare the value
// too, because another may have the same digest by chance.
func Digest(value string) int64 {
	if !utf8.ValidString(value) {
		value = string([]rune(value)) // as it is stored
	}
	sum := sha256.Sum256([]byte(value))
	return max(int64(binary.BigEndian.Uint64(sum[:])&math.MaxInt64), UnknownValue+1)
}

// The details are asked for one by one: an engine that joins may read all resources.
const countTagValues = `SELECT value, n,
		COALESCE((SELECT details FROM resources WHERE resources.subscription = counted.subscription AND key = of_first), '')
	FROM (SELECT subscription, value, COUNT(*) AS n, MIN(resource) AS of_first FROM resource_tags
		WHERE subscription = ? AND tag = ? GROUP BY subscription, value) AS counted`

// tagged is the tags in the details of a resource.
type tagged struct {
	Tags map[string]string `json:"tags"`
}

// Use is the number of resources that have a tag with a value.
type Use struct {
	Name, Value string // as one of the resources spells the name
	Resources   int
}

// Uses counts the resources of a subscription that have a tag, for each of its values.
// It reads an entry of an index for each of them, and one resource for each value. It
// reports whether the index knows all values. It does not if a resource has the tag in
// several casings. Then there are no counts, and the caller has to read the resources.
func (d *Tags) Uses(ctx context.Context, sub, name string) (uses []Use, known bool, err error) {
	known, name = true, arm.Fold(name)
	err = d.database.Read(ctx).Each(func(scan engine.Scanner) error {
		var value int64
		var n int
		var text string
		if err := scan(&value, &n, &text); err != nil {
			return err
		}
		use, found := useOf(name, value, text)
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

// useOf finds the tag with the value of a digest in the details of a resource.
func useOf(name string, digest int64, text string) (use Use, found bool) {
	var details tagged
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

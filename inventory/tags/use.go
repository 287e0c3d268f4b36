package tags

import (
	"context"
	"encoding/json"

	"portico/arm"
	"portico/inventory/engine"
)

// The details are asked for one by one: an engine that joins may read all resources.
const countTagValues = `SELECT value, n,
		COALESCE((SELECT details FROM resources WHERE resources.subscription = counted.subscription AND key = of_first), '')
	FROM (SELECT subscription, value, COUNT(*) AS n, MIN(resource) AS of_first FROM resource_tags
		WHERE subscription = ? AND tag = ? GROUP BY subscription, value) AS counted`

// tagged is what the details of a resource say of its tags.
type tagged struct {
	Tags map[string]string `json:"tags"`
}

// Use is how many resources have a tag with a value.
type Use struct {
	Name, Value string // as one of the resources spells the name
	Resources   int
}

// Uses counts the resources of a subscription that have a tag, for each of its values.
// It reads an entry of an index for each of them, and one resource for each value. It
// reports whether the index knows all values: it does not where an earlier version has
// written some, or where a resource has the tag in several casings. Then there are no
// counts, and the resources have to be read.
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

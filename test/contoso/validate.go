package contoso

import (
	"encoding/json"
	"strings"
	"unicode"
	"unicode/utf8"
)

const maxTags = 50

// checkMembers judges the top-level members whose form the contract fixes
// (resource reference, Put Resource, Request Body).
func checkMembers(members object) error {
	if err := checkTags(members); err != nil {
		return err
	}
	for _, key := range []string{"kind", "managedBy"} {
		if _, err := members.text(key); err != nil {
			return err
		}
	}
	for key, required := range map[string][]string{"sku": {"name"}, "plan": {"name", "publisher", "product"}, "identity": {"type"}} {
		if err := checkObject(members, key, required); err != nil {
			return err
		}
	}
	if v, ok := members.given("zones"); ok && json.Unmarshal(v, new([]string)) != nil {
		return invalidContent("The member 'zones' must be an array of strings.")
	}
	return nil
}

func checkObject(members object, key string, required []string) error {
	if _, given := members.given(key); !given {
		return nil
	}
	o, err := members.object(key)
	if err != nil {
		return err
	}
	for _, name := range required {
		if s, err := o.text(name); err != nil || s == "" {
			return invalidContent("The member '%s.%s' must be a string that is not empty.", key, name)
		}
	}
	if v, ok := o.given("capacity"); ok && key == "sku" && json.Unmarshal(v, new(int64)) != nil {
		return invalidContent("The member 'sku.capacity' must be an integer.")
	}
	return nil
}

func checkTags(members object) error {
	tags, err := members.object("tags")
	if err != nil {
		return err
	}
	if len(tags) > maxTags {
		return badRequest("TagCountExceeded", "The resource has %d tags; at most %d are allowed.", len(tags), maxTags)
	}
	for _, t := range tags {
		var value string
		if json.Unmarshal(t.value, &value) != nil {
			return invalidContent("The values of tags must be strings.")
		}
		switch {
		case t.key == "" || utf8.RuneCountInString(t.key) > 512:
			return badRequest("InvalidTagNameLength", "A tag name must have 1 to 512 characters.")
		case utf8.RuneCountInString(value) > 256:
			return badRequest("InvalidTagValueLength", "A tag value must have at most 256 characters.")
		case strings.ContainsFunc(t.key, func(r rune) bool { return strings.ContainsRune(`<>%&\?/`, r) || unicode.IsControl(r) }):
			return badRequest("InvalidTagNameCharacters", "The tag names '%s' have reserved characters '<,>,%%,&,\\,?,/' or control characters.", t.key)
		}
	}
	return nil
}

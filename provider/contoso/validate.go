package contoso

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

const maxTags = 50

var kindForm = regexp.MustCompile(`^[-\w.,()]+$`)

var identityForms = [...]string{"None", "SystemAssigned", "UserAssigned", "SystemAssigned,UserAssigned"}

// checkMembers checks the top-level members with a form fixed by the contract
// (resource reference, Put Resource, Request Body).
func checkMembers(members object) error {
	if err := checkTags(members); err != nil {
		return err
	}
	kind, err := members.text("kind")
	if err != nil {
		return err
	}
	if kind != "" && !kindForm.MatchString(kind) {
		return invalidContent("The member 'kind' may have letters, digits and -_.,() alone.")
	}
	managedBy, err := members.text("managedBy")
	if err != nil {
		return err
	}
	if managedBy != "" && !strings.HasPrefix(managedBy, "/") {
		return invalidContent("The member 'managedBy' must be the id of a resource.")
	}
	if err := checkIdentity(members); err != nil {
		return err
	}
	for key, required := range map[string][]string{"sku": {"name"}, "plan": {"name", "publisher", "product"}} {
		if err := checkObject(members, key, required); err != nil {
			return err
		}
	}
	if v, ok := members.present("zones"); ok && json.Unmarshal(v, new([]string)) != nil {
		return invalidContent("The member 'zones' must be an array of strings.")
	}
	return nil
}

func checkObject(members object, key string, required []string) error {
	if _, given := members.present(key); !given {
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
	if v, ok := o.present("capacity"); ok && key == "sku" && json.Unmarshal(v, new(int64)) != nil {
		return invalidContent("The member 'sku.capacity' must be an integer.")
	}
	return nil
}

// checkIdentity checks the managed identities of a resource.
func checkIdentity(members object) error {
	if err := checkObject(members, "identity", []string{"type"}); err != nil {
		return err
	}
	identity, err := members.object("identity")
	if err != nil || len(identity) == 0 {
		return err
	}
	form, err := identity.text("type")
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(identityForms[:], func(known string) bool { return same(known, strings.ReplaceAll(form, " ", "")) }) {
		return invalidContent("The member 'identity.type' must be one of %v.", identityForms)
	}
	_, err = identity.object("userAssignedIdentities")
	return err
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
		if isNull(t.value) || json.Unmarshal(t.value, &value) != nil {
			return invalidContent("The values of tags must be strings.")
		}
		switch {
		case t.key == "" || utf8.RuneCountInString(t.key) > 512:
			return badRequest("InvalidTagNameLength", "A tag name must have 1 to 512 characters.")
		case utf8.RuneCountInString(value) > 256:
			return badRequest("InvalidTagValueLength", "A tag value must have at most 256 characters.")
		case strings.ContainsFunc(t.key, func(r rune) bool {
			return strings.ContainsRune(`<>%&\?`, r) || unicode.IsControl(r) || r == '/' && !strings.HasPrefix(fold(t.key), "hidden-")
		}):
			return badRequest("InvalidTagNameCharacters", "The tag names '%s' have reserved characters '<,>,%%,&,\\,?,/' or control characters.", t.key)
		}
	}
	return nil
}

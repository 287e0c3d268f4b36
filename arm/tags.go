package arm

import (
	"maps"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Lengths of tags, in characters (resource reference, Put Resource).
const (
	MaxTagName  = 512
	MaxTagValue = 256
)

// MaxTags bounds the tags that are read; everything with tags has a lower limit.
const MaxTags = 2000

// CheckTags returns an error for invalid tags: more than limit of them, a
// name or value of invalid length, a name with reserved or control
// characters, or two names that differ only in case.
func CheckTags(tags map[string]string, limit int) *Error {
	if len(tags) > limit {
		return NewError(TagCountExceeded, len(tags), limit).WithTarget("tags")
	}
	names := make([]string, 0, len(tags))
	for name := range tags {
		names = append(names, name)
	}
	slices.Sort(names)

	var reserved []string
	seen := make(map[string]bool, len(names))
	for _, name := range names {
		n := utf8.RuneCountInString(name)
		switch {
		case n == 0 || n > MaxTagName:
			return NewError(InvalidTagNameLength, name).WithTarget("tags")
		case utf8.RuneCountInString(tags[name]) > MaxTagValue:
			return NewError(InvalidTagValueLength, name).WithTarget("tags." + name)
		case seen[Fold(name)]:
			return NewError(InvalidRequestContent, "The tag name '"+name+"' occurs twice: tag names match without case. Path 'tags'").WithTarget("tags")
		case hasReserved(name):
			reserved = append(reserved, name)
		}
		seen[Fold(name)] = true
	}
	if reserved != nil {
		return NewError(InvalidTagNameCharacters, strings.Join(reserved, ", ")).WithTarget("tags")
	}
	return nil
}

// hasReserved reports whether a tag's name has a reserved character. Names such as
// hidden-link:/subscriptions/…, used by tools to link resources, may have slashes.
func hasReserved(name string) bool {
	reserved := `<>%&\?/`
	if strings.HasPrefix(Fold(name), "hidden-") {
		reserved = `<>%&\?`
	}
	return strings.ContainsFunc(name, func(r rune) bool { return strings.ContainsRune(reserved, r) || unicode.IsControl(r) })
}

// TagOperation is the operation of a PATCH of a scope's tags.
type TagOperation uint8

// The operations.
const (
	// TagReplace replaces all tags by those sent.
	TagReplace TagOperation = iota
	// TagMerge adds the tags sent; if a name exists already, its value changes.
	TagMerge
	// TagDelete removes the tags sent: by name and value or, if no value is
	// sent, only by name.
	TagDelete
)

// ParseTagOperation reads the name of an operation in any casing.
func ParseTagOperation(text string) (TagOperation, bool) {
	for i, name := range [...]string{"Replace", "Merge", "Delete"} {
		if strings.EqualFold(text, name) {
			return TagOperation(i), true
		}
	}
	return 0, false
}

// Apply returns the tags after the operation, in a new map. Names match
// without case, and keep the spelling of the latest write.
func (o TagOperation) Apply(current, sent map[string]string) map[string]string {
	if o == TagReplace {
		current = nil
	}
	result := make(map[string]string, len(current)+len(sent))
	maps.Copy(result, current)
	for name, value := range sent {
		for present, was := range result {
			if EqualFold(present, name) && (o == TagMerge || value == "" || value == was) {
				delete(result, present)
			}
		}
		if o != TagDelete {
			result[name] = value
		}
	}
	return result
}

// ReservedTagPrefix returns the reserved prefix of a tag's name, or "". Names with it
// cannot be defined ahead of their use.
func ReservedTagPrefix(name string) string {
	for _, prefix := range [...]string{"microsoft", "azure", "windows"} {
		if strings.HasPrefix(Fold(name), prefix) {
			return prefix
		}
	}
	return ""
}

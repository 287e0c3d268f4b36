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

// MaxTags is how many tags are read at all; what may have tags has a lower bound.
const MaxTags = 2000

// CheckTags returns nil, or the fault of tags: more than limit of them, a name
// or value of a length that is not allowed, a name with reserved or control
// characters, two names that differ in case only.
func CheckTags(tags map[string]string, limit int) *Error {
	if len(tags) > limit {
		return NewError(TagCountExceeded, len(tags), limit).About("tags")
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
			return NewError(InvalidTagNameLength, name).About("tags")
		case utf8.RuneCountInString(tags[name]) > MaxTagValue:
			return NewError(InvalidTagValueLength, name).About("tags." + name)
		case seen[Fold(name)]:
			return NewError(InvalidRequestContent, "The tag name '"+name+"' occurs twice: tag names match without case. Path 'tags'").About("tags")
		case strings.ContainsFunc(name, reservedInTag):
			reserved = append(reserved, name)
		}
		seen[Fold(name)] = true
	}
	if reserved != nil {
		return NewError(InvalidTagNameCharacters, strings.Join(reserved, ", ")).About("tags")
	}
	return nil
}

func reservedInTag(r rune) bool {
	return strings.ContainsRune(`<>%&\?/`, r) || unicode.IsControl(r)
}

// TagOperation is what a PATCH of the tags of a scope does with those that it
// sends.
type TagOperation uint8

// The operations.
const (
	// TagReplace leaves the tags that are sent, and no others.
	TagReplace TagOperation = iota
	// TagMerge adds them to those that there are; of a name that is there
	// already, the value changes.
	TagMerge
	// TagDelete takes them away: by name and value or, where no value is sent,
	// by the name alone.
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

// Apply returns the tags that there are after the operation, in a map of its
// own. Names match without case; that of the latest write is kept.
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

// ReservedTagPrefix returns the prefix that the names of tags which are defined
// ahead of their use may not have, or "".
func ReservedTagPrefix(name string) string {
	for _, prefix := range [...]string{"microsoft", "azure", "windows"} {
		if strings.HasPrefix(Fold(name), prefix) {
			return prefix
		}
	}
	return ""
}

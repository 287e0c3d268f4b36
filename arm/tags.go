package arm

import (
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

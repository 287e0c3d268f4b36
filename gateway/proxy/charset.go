package proxy

import (
	"slices"
	"strings"
)

// asciiCharsets are prefixes of the names of character sets where every ASCII byte stands
// for itself, possibly with zeros between, wherever it occurs.
var asciiCharsets = []string{
	"utf-8", "utf8", "us-ascii", "ascii", "iso-8859-", "latin", "windows-125", "cp125", "koi8-", "euc-", "utf-16", "utf16", "utf-32", "utf32",
}

// readsLikeASCII reports whether readers that honor the declared content types read ASCII
// as written. With other character sets they may read another text than the one that was
// checked: UTF-7 and EBCDIC write letters in other bytes, and in Shift JIS, Big5 and GBK
// a backslash may be half of a character.
func readsLikeASCII(contentTypes []string) bool {
	rest := strings.ToLower(strings.Join(contentTypes, ";"))
	for {
		_, after, found := strings.Cut(rest, "charset")
		if !found {
			return true
		}
		rest = after
		name := strings.TrimLeft(after, "*= \t\"'")
		if name == "" || name[0] == ';' {
			continue
		}
		if !slices.ContainsFunc(asciiCharsets, func(known string) bool { return strings.HasPrefix(name, known) }) {
			return false
		}
	}
}

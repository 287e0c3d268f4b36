package yamltree

import (
	"strings"
	"unicode/utf8"

	"github.com/goccy/go-yaml/token"
)

// joinPlainScalars repairs an error of the lexer: inside { } it ends a plain scalar at any colon.
// In YAML, only a colon that is followed by white space or an indicator ends it (YAML 1.2, Flow
// Mappings). Without the repair, {westus: [http://127.0.0.1:8101]} would contain a mapping from
// http://127.0.0.1 to 8101.
func joinPlainScalars(tokens token.Tokens) token.Tokens {
	var joined token.Tokens
	depth := 0
	for i := 0; i < len(tokens); i++ {
		t := tokens[i]
		switch t.Type {
		case token.SequenceStartType, token.MappingStartType:
			depth++
		case token.SequenceEndType, token.MappingEndType:
			depth--
		}
		if depth > 0 && i+2 < len(tokens) && isCutAtColon(t, tokens[i+1], tokens[i+2]) {
			rest := tokens[i+2]
			t = token.String(t.Value+":"+rest.Value, t.Origin+":"+rest.Origin, t.Position)
			i += 2
		}
		t.Prev, t.Next = nil, nil
		joined.Add(t)
	}
	return joined
}

// isCutAtColon reports whether the lexer cut one plain scalar into these three tokens.
func isCutAtColon(before, colon, after *token.Token) bool {
	return isPlain(before) && colon.Type == token.MappingValueType && isPlain(after) &&
		isAdjacent(before, colon) && isAdjacent(colon, after)
}

func isPlain(t *token.Token) bool {
	return t.Indicator == token.NotIndicator && strings.TrimSpace(t.Value) != ""
}

func isAdjacent(t, next *token.Token) bool {
	return t.Position.Line == next.Position.Line &&
		t.Position.Column+utf8.RuneCountInString(t.Value) == next.Position.Column
}

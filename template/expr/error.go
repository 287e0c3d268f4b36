package expr

import (
	"fmt"
	"strings"
)

// Error is a fault in an expression: a sentence for whoever wrote the template. It never
// quotes a secret; functions quote names and kinds, and no values.
type Error struct {
	Message string
	Offset  int // where in the expression's text, in bytes
	cause   error
}

// Errorf is a fault whose place the evaluation adds. A function's message need not name
// the function; the evaluation begins it with "The template function 'NAME': ".
func Errorf(format string, args ...any) error {
	return &Error{Message: fmt.Sprintf(format, args...), Offset: -1}
}

func wrapf(cause error, format string, args ...any) error {
	return &Error{Message: fmt.Sprintf(format, args...), Offset: -1, cause: cause}
}

func errorAt(offset int, format string, args ...any) error {
	return &Error{Message: fmt.Sprintf(format, args...), Offset: offset}
}

// Shorten returns the beginning of a text that is longer than so many bytes, with an ellipsis.
func Shorten(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + "…"
}

// Error is the sentence.
func (e *Error) Error() string { return e.Message }

// Unwrap returns the error of what a function asks, or ErrBudget if the budget was spent.
func (e *Error) Unwrap() error { return e.cause }

package expr

import (
	"fmt"
	"strings"
)

// Error is a fault in an expression, for the template's author. It never quotes a secret; functions
// quote only names and kinds, not values.
type Error struct {
	Message string
	Offset  int // byte offset in the expression
	cause   error
}

// Errorf returns an error whose offset the evaluation adds. A function's message need not name the
// function: the evaluation prefixes it with "The template function 'NAME': ".
func Errorf(format string, args ...any) error {
	return &Error{Message: fmt.Sprintf(format, args...), Offset: -1}
}

func wrapf(cause error, format string, args ...any) error {
	return &Error{Message: fmt.Sprintf(format, args...), Offset: -1, cause: cause}
}

func errorAt(offset int, format string, args ...any) error {
	return &Error{Message: fmt.Sprintf(format, args...), Offset: offset}
}

// Shorten cuts a text to about most bytes and adds an ellipsis, if it is longer.
func Shorten(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + "…"
}

// Error returns the message.
func (e *Error) Error() string { return e.Message }

// Unwrap returns the error of a question's answer, or ErrBudget if the budget is exhausted.
func (e *Error) Unwrap() error { return e.cause }

package events

import (
	"context"

	"portico/arm"
)

// Mask hides secrets in an error.
type Mask func(*arm.Error) *arm.Error

// MaskKey finds a [Mask] in a context.
type MaskKey struct{}

// WithMask returns a context for requests that may hold secrets. The mask hides them in
// every error of such a request, because providers quote the request.
func WithMask(ctx context.Context, m Mask) context.Context {
	return context.WithValue(ctx, MaskKey{}, m)
}

// Masked applies the mask of a context to an error; without a mask it returns the error.
func Masked(ctx context.Context, e *arm.Error) *arm.Error {
	if e == nil {
		return nil
	}
	if m, is := ctx.Value(MaskKey{}).(Mask); is {
		return m(e)
	}
	return e
}

// HasMask reports whether the requests of a context may hold secrets.
func HasMask(ctx context.Context) bool { return ctx.Value(MaskKey{}) != nil }

// LateError returns the part of a provider's error to keep after the request has
// ended. If the request held secrets, they can no longer be found in the
// error, so that only its code is kept.
func (c Cause) LateError(e *arm.Error) *arm.Error {
	if e == nil || !c.Secrets {
		return e
	}
	return e.Withheld("The provider's words are not kept, because the request held secrets. The operations of the deployment that sent it show them, " +
		"with the secrets hidden.")
}

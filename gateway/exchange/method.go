package exchange

import (
	"net/http"
	"slices"

	"portico/arm"
)

// Methods are the methods that Portico answers.
var Methods = []string{http.MethodGet, http.MethodHead, http.MethodPut, http.MethodPatch, http.MethodPost, http.MethodDelete}

// CheckMethod returns an error for a method that is not one of Methods.
func CheckMethod(method string) *arm.Error {
	if slices.Contains(Methods, method) {
		return nil
	}
	switch method {
	case http.MethodOptions, http.MethodTrace, http.MethodConnect:
		fault := arm.NewError(arm.MethodNotAllowed, method)
		fault.Allow = Methods
		return fault
	}
	return arm.NewError(arm.NotImplemented)
}

// Changes reports whether requests of a method may change something.
func Changes(method string) bool {
	switch method {
	case http.MethodPut, http.MethodPatch, http.MethodPost, http.MethodDelete:
		return true
	}
	return false
}

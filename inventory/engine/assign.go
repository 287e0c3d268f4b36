package engine

import (
	"fmt"
	"reflect"
)

// assignAll copies a row's values into dest, a slice of pointers.
func assignAll[V any](dest []any, values []V) error {
	if len(dest) != len(values) {
		return fmt.Errorf("inventory: %d columns are read into %d variables", len(values), len(dest))
	}
	for i := range dest {
		if err := assign(dest[i], values[i]); err != nil {
			return fmt.Errorf("inventory: column %d: %w", i, err)
		}
	}
	return nil
}

// assign copies a value to the variable that dest points to, as database/sql would. It
// supports only the types in use.
func assign(dest, value any) error {
	switch into := dest.(type) { // nearly all cases, without reflection
	case *string:
		if text, ok := value.(string); ok {
			*into = text
			return nil
		}
	case *int64:
		if n, ok := value.(int64); ok {
			*into = n
			return nil
		}
	case *[]byte:
		if bytes, ok := value.([]byte); ok {
			*into = bytes
			return nil
		}
		if value == nil {
			*into = nil
			return nil
		}
	}
	return assignKind(reflect.ValueOf(dest).Elem(), value)
}

func assignKind(into reflect.Value, value any) error {
	switch value := value.(type) {
	case string:
		if into.Kind() == reflect.String {
			into.SetString(value)
			return nil
		}
	case bool:
		if into.Kind() == reflect.Bool {
			into.SetBool(value)
			return nil
		}
	case int16:
		return assignInteger(into, int64(value))
	case int32:
		return assignInteger(into, int64(value))
	case int64:
		return assignInteger(into, value)
	}
	return fmt.Errorf("a %T is no %s", value, into.Type())
}

func assignInteger(into reflect.Value, n int64) error {
	switch {
	case into.CanInt() && !into.OverflowInt(n):
		into.SetInt(n)
	case into.CanUint() && n >= 0 && !into.OverflowUint(uint64(n)):
		into.SetUint(uint64(n))
	case into.Kind() == reflect.Bool && (n == 0 || n == 1):
		into.SetBool(n == 1)
	default:
		return fmt.Errorf("%d is no %s", n, into.Type())
	}
	return nil
}

package setting

import (
	"reflect"

	"portico/config/yamltree"
)

// RestartOnly marks a scalar whose change needs a restart.
func (s *Setting) RestartOnly() *Setting {
	s.restartOnly, s.restartValue = true, s.at
	return s
}

// RestartOnly marks a setting that keeps the old value of at until a restart, if changed reports
// that the difference needs one. A nil changed means any difference.
func RestartOnly[T any](at *T, changed func(was, is T) bool, s *Setting) *Setting {
	s.restartOnly, s.restartValue = true, at
	if changed != nil {
		s.changed = func(was, is any) bool { return changed(was.(T), is.(T)) }
	}
	return s
}

// KeepRestartOnly resets the settings that need a restart to their values in old, and returns the paths of
// those that differed. Both must have the same rows.
func KeepRestartOnly(old, next []*Setting) (differed []string) { return keepRows("", old, next) }

func keepRows(path string, old, next []*Setting) (differed []string) {
	for i, s := range next {
		at := yamltree.Join(path, s.key)
		switch {
		case s.restartOnly:
			if s.keepValue(old[i]) {
				differed = append(differed, at)
			}
		case s.kind == mapping:
			differed = append(differed, keepRows(at, old[i].below(), s.below())...)
		}
	}
	return differed
}

func (s *Setting) keepValue(old *Setting) (differs bool) {
	was, is := reflect.ValueOf(old.restartValue).Elem(), reflect.ValueOf(s.restartValue).Elem()
	if s.changed != nil {
		differs = s.changed(was.Interface(), is.Interface())
	} else {
		differs = !reflect.DeepEqual(was.Interface(), is.Interface())
	}
	if differs {
		is.Set(was)
	}
	return differs
}

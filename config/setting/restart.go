package setting

import (
	"reflect"

	"portico/config/yamltree"
)

// RestartOnly marks a scalar whose change waits for a restart.
func (s *Setting) RestartOnly() *Setting {
	s.restartOnly, s.kept = true, s.at
	return s
}

// RestartOnly marks a setting that keeps all of at until a restart where changed
// says that the difference needs one; no changed means any difference.
func RestartOnly[T any](at *T, changed func(was, is T) bool, s *Setting) *Setting {
	s.restartOnly, s.kept = true, at
	if changed != nil {
		s.changed = func(was, is any) bool { return changed(was.(T), is.(T)) }
	}
	return s
}

// Keep resets the settings that only a restart changes to their values in old, and
// returns the paths of those that differed. Both have the same rows.
func Keep(old, next []*Setting) (differed []string) { return keep("", old, next) }

func keep(path string, old, next []*Setting) (differed []string) {
	for i, s := range next {
		at := yamltree.Join(path, s.key)
		switch {
		case s.restartOnly:
			if s.keepFrom(old[i]) {
				differed = append(differed, at)
			}
		case s.kind == mapping:
			differed = append(differed, keep(at, old[i].below(), s.below())...)
		}
	}
	return differed
}

func (s *Setting) keepFrom(old *Setting) (differs bool) {
	was, is := reflect.ValueOf(old.kept).Elem(), reflect.ValueOf(s.kept).Elem()
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

package config

import (
	"portico/config/files"
	"portico/config/setting"
)

// Line is a setting of a configuration that has a value; a value that may be a secret or
// name a person is [setting.Redacted].
type Line = setting.Line

// Lines are the settings in use, by their paths.
func (c *Config) Lines() []Line { return setting.Lines(c.tree, c.rows(&files.Reader{})) }

// Difference is a setting that differs between two configurations. A value is "" if
// there is none.
type Difference struct{ Path, From, To string }

// Differences returns the settings that differ from the configuration before.
func Differences(before, after *Config) []Difference {
	var all []Difference
	was, is := before.Lines(), after.Lines()
	for len(was) > 0 || len(is) > 0 {
		switch {
		case len(is) == 0 || len(was) > 0 && was[0].Path < is[0].Path:
			all, was = append(all, Difference{Path: was[0].Path, From: was[0].Value}), was[1:]
		case len(was) == 0 || is[0].Path < was[0].Path:
			all, is = append(all, Difference{Path: is[0].Path, To: is[0].Value}), is[1:]
		default:
			if was[0].Differs(is[0]) {
				all = append(all, Difference{was[0].Path, was[0].Value, is[0].Value})
			}
			was, is = was[1:], is[1:]
		}
	}
	return all
}

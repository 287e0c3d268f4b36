package config

import (
	"portico/config/files"
	"portico/config/setting"
)

// Line is a setting with a value. A value that may be a secret or name a person is
// [setting.Redacted].
type Line = setting.Line

// Lines returns the settings in use, sorted by path.
func (c *Config) Lines() []Line { return setting.Lines(c.tree, c.rows(&files.Reader{})) }

// Difference is a setting that differs between two configurations. An absent value is "".
type Difference struct{ Path, From, To string }

// Differences returns the settings that differ between two configurations, sorted by path.
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

// Package version says which build of Portico this is.
package version

import (
	"cmp"
	"runtime/debug"
)

// Number is the version of the programs, the image and the chart. A test compares the files
// that repeat it, and the commit's tag.
const Number = "0.1.0"

// stamped is the revision of a build without access to its repository, such
// as an image's; the linker sets it (-X portico/internal/version.stamped=…).
var stamped string

// Build identifies a build. Its members are "unknown" if they were not recorded.
type Build struct {
	Version  string `json:"version"`
	Revision string `json:"revision"` // the commit
	Go       string `json:"go"`
}

// Current returns the build of this program.
func Current() Build {
	b := Build{Version: Number, Revision: cmp.Or(stamped, "unknown"), Go: "unknown"}
	if info, ok := debug.ReadBuildInfo(); ok {
		b.Go = info.GoVersion
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" {
				b.Revision = s.Value
			}
		}
	}
	return b
}

func (b Build) String() string { return b.Version + " " + b.Revision + " " + b.Go }

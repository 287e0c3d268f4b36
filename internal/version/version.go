// Package version says which build of Portico this is.
package version

import (
	"cmp"
	"runtime/debug"
	"time"
)

// Number is the version of the programs, the image and the chart. Tests compare the files
// that repeat it, and the tag of a release.
const Number = "0.1.0"

// stamped is the revision of a build without access to its repository, such
// as an image's; the linker sets it (-X portico/internal/version.stamped=…).
var stamped string

// Build identifies a build. Its members are "unknown" if they were not recorded.
type Build struct {
	Version  string `json:"version"`
	Revision string `json:"revision"` // the commit
	Go       string `json:"go"`
	// Time is when the commit was made; the start of 1970 if that is unknown.
	Time time.Time `json:"time"`
}

// Current returns the build of this program.
func Current() Build {
	b := Build{Version: Number, Revision: cmp.Or(stamped, "unknown"), Go: "unknown", Time: time.Unix(0, 0).UTC()}
	if info, ok := debug.ReadBuildInfo(); ok {
		b.Go = info.GoVersion
		for _, s := range info.Settings {
			switch s.Key {
			case "vcs.revision":
				b.Revision = s.Value
			case "vcs.time":
				b.Time, _ = time.Parse(time.RFC3339, s.Value) // the go command wrote it
			}
		}
	}
	return b
}

func (b Build) String() string { return b.Version + " " + b.Revision + " " + b.Go }

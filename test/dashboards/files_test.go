package dashboards

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/goccy/go-yaml"

	"portico/test/harness"
)

const (
	deploy    = "../../deploy"
	rulesFile = deploy + "/prometheus/rules.yaml"
)

// dashboard is the part of a dashboard that these tests read.
type dashboard struct {
	UID, Title, Description string
	Templating              struct{ List []variable }
	Annotations             struct{ List []annotation }
	Panels                  []panel

	file string
}

type variable struct {
	Name, Type, Description, Definition, AllValue string
	IncludeAll                                    bool
}

// annotation marks events on all panels. With UseValueForTime the values are the events'
// times, in milliseconds.
type annotation struct {
	Name, Expr, TitleFormat, TextFormat, UseValueForTime string
	Enable                                               bool
}

type panel struct {
	ID                       int
	Type, Title, Description string
	GridPos                  struct{ X, Y, W, H int }
	FieldConfig              struct{ Defaults fieldDefaults }
	Targets                  []struct {
		Expr, LegendFormat string
		Exemplar           bool
	}
}

func (p panel) expressions() (all string) {
	for _, t := range p.Targets {
		all += t.Expr + "\n"
	}
	return all
}

func (p panel) legends() (all string) {
	for _, t := range p.Targets {
		all += t.LegendFormat + "\n"
	}
	return all
}

// fieldDefaults are the settings of all series of a panel.
type fieldDefaults struct {
	Unit       string
	Links      []struct{ Title, URL string }
	Thresholds struct {
		Steps []struct {
			Color string
			Value *float64 // nil: the lowest
		}
	}
	Custom struct{ ThresholdsStyle struct{ Mode string } }
}

func readDashboards(t *testing.T) (all []dashboard) {
	t.Helper()
	files, err := filepath.Glob(deploy + "/dashboards/*.json")
	if err != nil || len(files) < 6 {
		t.Fatalf("dashboards: %v, %v", files, err)
	}
	for _, file := range files {
		d := dashboard{file: filepath.Base(file)}
		text, err := os.ReadFile(file)
		harness.OK(t, err)
		if err := json.Unmarshal(text, &d); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		all = append(all, d)
	}
	return all
}

// rule is an entry of the file of rules: an alert, or a record.
type rule struct {
	Alert, Record, Expr string
	For                 string
	Labels, Annotations map[string]string
}

func readRules(t *testing.T) (all []rule) {
	t.Helper()
	text, err := os.ReadFile(rulesFile)
	harness.OK(t, err)
	var file struct {
		Groups []struct {
			Name  string
			Rules []rule
		}
	}
	harness.OK(t, yaml.Unmarshal(text, &file))
	for _, group := range file.Groups {
		all = append(all, group.Rules...)
	}
	return all
}

func alerts(rules []rule) (all []rule) {
	for _, r := range rules {
		if r.Alert != "" {
			all = append(all, r)
		}
	}
	return all
}

var (
	window   = regexp.MustCompile(`\[(\d+)([smhd])\]`)
	holding  = regexp.MustCompile(`^(\d+)([smhd])$`)
	recorded = regexp.MustCompile(`portico:\w+:\w+`)
)

// longestLive is the longest window of an alert that must be seen firing.
const longestLive = 2 * time.Minute

// looksBack is how long a fault must last until the alert fires: the longest window of
// its expression and of the recorded series in it, plus the time for which it must
// hold.
func looksBack(t *testing.T, r rule, all []rule) time.Duration {
	t.Helper()
	longest := windowOf(t, r.Expr)
	for _, name := range recorded.FindAllString(r.Expr, -1) {
		found := false
		for _, other := range all {
			if other.Record == name {
				found, longest = true, max(longest, windowOf(t, other.Expr))
			}
		}
		if !found {
			t.Errorf("%s asks for %s, which nothing records", r.Alert, name)
		}
	}
	if r.For == "" {
		return longest
	}
	parts := holding.FindStringSubmatch(r.For)
	if parts == nil {
		t.Fatalf("%s: for: %s", r.Alert, r.For)
	}
	return longest + duration(t, parts)
}

func windowOf(t *testing.T, expr string) (longest time.Duration) {
	t.Helper()
	for _, parts := range window.FindAllStringSubmatch(expr, -1) {
		longest = max(longest, duration(t, parts))
	}
	return longest
}

func duration(t *testing.T, parts []string) time.Duration {
	t.Helper()
	d, err := time.ParseDuration(strings.NewReplacer("d", "h").Replace(parts[1] + parts[2]))
	harness.OK(t, err)
	if parts[2] == "d" {
		d *= 24
	}
	return d
}

var (
	fieldLabel  = regexp.MustCompile(`\$\{__field\.labels\.(\w+)\b`)
	legendLabel = regexp.MustCompile(`\{\{(\w+)\}\}`)
)

// filled is an expression as Grafana would send it, with all values of all variables,
// for a panel so narrow that a rate covers ten seconds.
func filled(expr string) string {
	expr = strings.NewReplacer("$__rate_interval", "10s").Replace(expr)
	return regexp.MustCompile(`"\$\w+"`).ReplaceAllString(expr, `".*"`)
}

package setting

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"time"

	"portico/config/rule"
	"portico/config/yamltree"
)

type bakery struct {
	heat  time.Duration
	loafs []string
	shops []shop
}

type shop struct {
	name  string
	seats int
}

// rows have one row of each kind that a mapping can have.
func (b *bakery) rows() []*Setting {
	return []*Setting{Mapping("oven", "The oven.",
		Value("heat", &b.heat, rule.PositiveDuration(), time.Hour, "How long it heats.").RestartOnly(),
		List("loafs", rule.Identifier(), "What is in it.", func(_ *yamltree.Node, loaf string) { b.loafs = append(b.loafs, loaf) }),
		Mappings("shops", "Who sells.", func(s *shop) []*Setting {
			return []*Setting{
				Required("name", &s.name, rule.Identifier(), "The shop's name."),
				Value("seats", &s.seats, rule.CountOrZero(), 4, "How many may sit."),
			}
		}, func(_ *Object, s shop) { b.shops = append(b.shops, s) }),
	)}
}

// TestARowIsEnough holds everything that follows from a row to three rows that
// nothing else knows of.
func TestARowIsEnough(t *testing.T) {
	var b bakery
	Reset(b.rows())
	if b.heat != time.Hour {
		t.Errorf("the default is %s", b.heat)
	}
	if err := b.read("oven: {heat: 2h, loafs: [rye], shops: [{name: a}, {name: b, seats: 0}]}"); err != nil {
		t.Fatal(err)
	}
	if b.heat != 2*time.Hour || !slices.Equal(b.loafs, []string{"rye"}) || !slices.Equal(b.shops, []shop{{"a", 4}, {"b", 0}}) {
		t.Errorf("%+v", b)
	}
	for text, want := range map[string]string{
		"oven: {heat: 0s}":          `x.yaml:1: oven.heat: "0s" is not a valid positive duration (allowed: above 0s and at most 8784h, such as 500ms, 5s or 1h30m)`,
		"oven: {hat: 1h}":           `x.yaml:1: unknown key "hat" in oven (allowed: heat, loafs, shops)`,
		"oven: {loafs: rye}":        "x.yaml:1: oven.loafs is a single value, not a list (allowed: a list, such as [a, b])",
		"oven:\n  shops:\n  - {}\n": "x.yaml:3: oven.shops.name is missing (allowed: 1 to 64 ASCII letters, digits, -, _ and .)",
	} {
		if err := new(bakery).read(text); err == nil || err.Error() != want {
			t.Errorf("%s: %v", text, err)
		}
	}
	next := bakery{heat: time.Minute}
	if differed := KeepRestartOnly(b.rows(), next.rows()); !slices.Equal(differed, []string{"oven.heat"}) || next.heat != 2*time.Hour {
		t.Errorf("a restart for %q, heat %s", differed, next.heat)
	}
	if differed := KeepRestartOnly(b.rows(), next.rows()); differed != nil {
		t.Errorf("a restart for %q, though nothing differs", differed)
	}
}

func TestARowIsDescribed(t *testing.T) {
	var page strings.Builder
	WriteReference(&page, new(bakery).rows())
	for _, want := range []string{
		"\n### oven\n\nThe oven.\n",
		"\n**`oven.heat`** — positive duration; default `1h`; needs a restart.  \nHow long it heats.  \nAllowed: above 0s",
		"\n**`oven.loafs`** — list; items: identifier.  \nWhat is in it.",
		"\n**`oven.shops[].name`** — identifier; required.  \nThe shop's name.",
		"\n**`oven.shops[].seats`** — whole number; default `4`.  \nHow many may sit.",
	} {
		if !strings.Contains(page.String(), want) {
			t.Errorf("%q is missing in\n%s", want, page.String())
		}
	}
	var schema bytes.Buffer
	if err := WriteSchema(&schema, "Bakery", new(bakery).rows()); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"heat": {`, `"How long it heats. Allowed: `, `"default": "1h"`, `"default": 4`, "\"required\": [\n"} {
		if !strings.Contains(schema.String(), want) {
			t.Errorf("%s is missing in\n%s", want, schema.String())
		}
	}
}

func TestDurationsAreWrittenAsTheyAreRead(t *testing.T) {
	for _, d := range []time.Duration{0, time.Second, 90 * time.Second, 24 * time.Hour, 10 * time.Hour, 20 * time.Minute, 100 * time.Minute} {
		if again, err := time.ParseDuration(formatDuration(d)); err != nil || again != d {
			t.Errorf("%s is written %s", d, formatDuration(d))
		}
	}
}

func (b *bakery) read(text string) error {
	r := &yamltree.Report{}
	Read(r, r.Parse("x.yaml", []byte(text)), b.rows())
	return r.Err()
}
